"""Telemetry: samples come in as a stream and are kept as hours and days."""
