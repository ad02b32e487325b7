"""Formats of what tools say of a node: drives, memory, its controller and its PCIe devices."""
