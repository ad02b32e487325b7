"""Who waits for whom in NCCL communicators, by how far each of their ranks came."""
