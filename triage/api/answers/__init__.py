"""What goes out: JSON, problem documents, tables."""
