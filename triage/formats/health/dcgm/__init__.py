"""Formats of what DCGM prints: health watches, diagnoses over several nodes, links."""
