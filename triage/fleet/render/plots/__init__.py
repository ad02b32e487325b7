"""Pictures of a fleet for a notebook, drawn by matplotlib."""
