"""``triage fleet`` and its commands."""
