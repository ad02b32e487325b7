"""The table of work: what is owed, who holds it, and since when."""
