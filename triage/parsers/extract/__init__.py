"""What an artifact came down to, as it is stored."""
