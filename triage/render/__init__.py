"""Render: one Answer as text, JSON, HTML and DataFrames, by pure functions."""
