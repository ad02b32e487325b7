"""The tasks, one a kind of work: a name, an id, one call."""
