"""Formats of what amd-smi prints."""
