"""Whether a job that stopped is worth starting again: a policy for each cause, and the record."""
