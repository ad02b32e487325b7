"""Routes of the fleet."""
