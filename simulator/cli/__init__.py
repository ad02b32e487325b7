"""``triage simulate`` and ``triage fleet simulate``."""
