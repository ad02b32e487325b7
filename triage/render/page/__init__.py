"""An Answer as HTML."""
