"""Use cases: propose, decide, carry out, undo, stop."""
