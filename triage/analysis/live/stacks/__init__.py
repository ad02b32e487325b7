"""Stacks of all ranks of a job: classes by where the program stands, and whether they moved."""
