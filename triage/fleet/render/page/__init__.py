"""The fleet report as one page."""
