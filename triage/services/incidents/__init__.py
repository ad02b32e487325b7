"""Incidents: opened, their files read, answered, resolved, and removed when they are old."""
