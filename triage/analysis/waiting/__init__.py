"""Who waits for whom, since when, and whether the job still moved."""
