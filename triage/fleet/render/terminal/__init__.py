"""The fleet on a terminal."""
