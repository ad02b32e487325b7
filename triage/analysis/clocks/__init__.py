"""Times of different nodes on one clock."""
