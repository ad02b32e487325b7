"""Real jobs with real faults, pulled live."""
