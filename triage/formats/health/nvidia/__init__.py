"""Formats of what nvidia-smi prints."""
