"""Reports of NCCL's RAS, as text and as JSON."""
