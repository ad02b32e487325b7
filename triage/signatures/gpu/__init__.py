"""What lines say of GPUs and their drivers."""
