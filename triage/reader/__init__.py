"""A trained reader of log lines that no signature knows."""
