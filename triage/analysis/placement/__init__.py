"""Who sits where: ranks, nodes, GPUs and their names."""
