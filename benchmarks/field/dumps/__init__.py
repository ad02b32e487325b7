"""A small model of a training job: its groups, its steps, its devices, its recorder dumps."""
