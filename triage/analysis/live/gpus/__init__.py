"""What the GPUs of a job do at one moment: which spin in a collective, which idle, which work."""
