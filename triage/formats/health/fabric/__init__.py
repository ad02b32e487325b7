"""Formats of what tools say of links of a fabric."""
