"""Harmless or known changes of an incident, whose right answer follows from it."""
