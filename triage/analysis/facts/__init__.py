"""Evidence beside the stop: whose it is, and what it is about."""
