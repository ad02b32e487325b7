"""Test plans of the service: made from an incident or a host list, and their results."""
