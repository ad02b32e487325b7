"""An Answer as JSON, DataFrames and a trace."""
