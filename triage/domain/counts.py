"""Counts: a number and its noun."""


def count(number: float, noun: str, many: str = "") -> str:
    """``1 rank``, ``16,384 ranks``; ``many`` is a plural that does not end in a mere s."""
    return f"{number:,.0f} {noun if number == 1 else many or f'{noun}s'}"
