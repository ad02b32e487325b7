"""How many nodes are away at once: over a record, and what it says of the time to come."""
