"""Runs, outages and facts of nodes as they come in: imports, hooks, and what keeps them."""
