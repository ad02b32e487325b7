"""What may be removed: marks of installations, blobs without rows, erasures on request."""
