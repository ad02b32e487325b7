"""An Answer on a terminal."""
