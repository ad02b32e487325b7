"""What lines say of the training program and its libraries."""
