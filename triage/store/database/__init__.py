"""The engine, sessions, locks and migrations."""
