"""Counts: a number and its noun."""

__all__ = ["count"]


def count(number: int, noun: str) -> str:
    """``1 rank``, ``16,384 ranks``; for nouns whose plural only adds an s."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
