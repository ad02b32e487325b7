"""What lines say of schedulers, launchers and their agents."""
