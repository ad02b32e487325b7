"""The fleet report: every answer that a record of interruptions gives."""
