"""What tools say of a simulated job while it hangs: stacks, NCCL RAS, GPU states."""
