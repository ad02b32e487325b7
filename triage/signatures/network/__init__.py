"""What lines say of collectives, adapters, links and switches."""
