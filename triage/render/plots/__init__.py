"""Pictures for a notebook, drawn by matplotlib."""
