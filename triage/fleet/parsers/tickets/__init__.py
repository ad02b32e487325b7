"""Tickets: what people wrote down of nodes, as trackers export it."""
