"""Simulated records of fleets with known faults."""
