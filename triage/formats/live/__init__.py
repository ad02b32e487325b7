"""Formats of what tools say of a job that still runs: stacks, NCCL RAS, recorders, GPU states."""
