"""The words of the fleet as frozen dataclasses."""
