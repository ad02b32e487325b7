"""The HTTP interface of the fleet."""
