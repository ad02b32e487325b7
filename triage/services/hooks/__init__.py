"""Hooks: what schedulers and monitoring systems tell of jobs and nodes."""
