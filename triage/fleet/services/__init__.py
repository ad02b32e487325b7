"""The use-cases of the fleet."""
