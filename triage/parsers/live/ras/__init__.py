"""Reports of NCCL's RAS, as text, as JSON and as a stream of events."""
