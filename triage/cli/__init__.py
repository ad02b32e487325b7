"""The command line: what people type. Everything it says comes from ``triage.report``."""
