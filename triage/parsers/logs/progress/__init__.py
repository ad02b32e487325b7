"""Progress of a training job, read from its own lines: steps, times, losses, marks of life."""
