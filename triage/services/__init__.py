"""What the service does: one folder a feature, one use-case a file."""
