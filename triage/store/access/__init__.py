"""Tokens, page sessions, and who changed what."""
