"""Formats of what agents of a cluster say of its nodes."""
