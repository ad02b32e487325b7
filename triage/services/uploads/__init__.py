"""Uploads: the body of a request to durable files, and those files again."""
