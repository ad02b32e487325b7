"""The weekly digest: when it is due, and what it says."""
