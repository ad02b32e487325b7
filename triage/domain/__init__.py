"""The field's words as frozen dataclasses; standard library only."""
