"""What telemetry says of the time before a stop: evidence, never a verdict."""
