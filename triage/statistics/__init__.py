"""Estimates over counts, exposure and series: rates, intervals, survival; pure functions."""
