"""Routes of the pages of the fleet."""
