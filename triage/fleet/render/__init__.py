"""The answers about a fleet as text, HTML, charts and DataFrames, by pure functions."""
