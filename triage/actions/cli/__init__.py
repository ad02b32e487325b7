"""``triage act``: what a person tells the actuator."""
