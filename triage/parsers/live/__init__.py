"""What tools print of a running job, as looks: pure functions from text."""
