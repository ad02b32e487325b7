"""Public traces of failures, each in its own format."""
