"""Results of checks of nodes: dcgmi, nvidia-smi, NCCL tests, InfiniBand, host checks, drains."""
