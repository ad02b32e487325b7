"""A pull from a job that still runs: its processes are asked, twice, and nothing is changed."""
