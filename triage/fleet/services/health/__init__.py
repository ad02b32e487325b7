"""Checks of nodes: their results come in, and what is due is listed."""
