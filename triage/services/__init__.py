"""What the service does, one use-case a file."""
