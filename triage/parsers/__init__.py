"""Bytes to facts: one format a file, no judgement."""
