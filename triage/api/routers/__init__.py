"""The routes, one group a file; each reads its request, calls one thing, answers."""
