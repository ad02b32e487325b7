"""Repairs: how a node came back, what was done to it, and how likely it fails again."""
