"""Whole incidents: dumps, kernel logs and job logs of one failure, told from one story."""
