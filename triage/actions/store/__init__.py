"""Rows of acts and of halts."""
