"""One way a job stops or slows down, one file. Detectors do not know each other."""
