"""Telemetry: temperatures, power, clocks, throttle reasons and error counters as columns."""
