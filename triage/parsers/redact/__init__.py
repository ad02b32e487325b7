"""Secrets in the text of logs, replaced before the text is written anywhere."""
