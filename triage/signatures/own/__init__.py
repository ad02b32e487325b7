"""Signatures of a team's own: a file without code, checked as ours are."""
