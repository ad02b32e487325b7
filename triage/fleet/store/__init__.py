"""Rows of the fleet: runs, outages, checks, telemetry."""
