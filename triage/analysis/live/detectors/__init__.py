"""One way of judging looks in each file."""
