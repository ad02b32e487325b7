"""Whose the blob store is, what is removed from it by age, and what on request."""
