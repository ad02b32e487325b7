"""What looks at a running job say of its ranks, as claims beside those of the dumps."""
