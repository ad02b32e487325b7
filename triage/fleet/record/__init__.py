"""The record of a fleet as columns: runs, interruptions, suspects, outages."""
