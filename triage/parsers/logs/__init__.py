"""Kernel logs and job logs: bytes -> lines -> dated evidence."""
