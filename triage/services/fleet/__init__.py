"""The fleet: its record of runs, stops and nodes, and what follows from it."""
