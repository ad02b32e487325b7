"""The job at the moment of its dumps."""
