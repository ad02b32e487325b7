"""Uploaded bytes, in a folder or an object store."""
