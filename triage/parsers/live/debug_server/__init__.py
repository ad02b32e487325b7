"""What PyTorch's debug server leaves: its periodic files, its pages, the answers of handlers."""
