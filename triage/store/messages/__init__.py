"""Receivers, and messages to them."""
