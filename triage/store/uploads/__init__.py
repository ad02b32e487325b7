"""Rows of uploads, and what was read out of them."""
