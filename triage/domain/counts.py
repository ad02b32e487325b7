"""Counts: a number and its noun, a place in a row, and how many more there are."""

from collections.abc import Sequence

_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def count(number: float, noun: str, many: str = "") -> str:
    """``1 rank``, ``16,384 ranks``; ``many`` is a plural that does not end in a mere s."""
    return f"{number:,.0f} {noun if number == 1 else many or f'{noun}s'}"


def list_some(names: Sequence[str], most: int) -> str:
    """``n1, n2 and 3 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def format_ordinal(number: int) -> str:
    """``1st``, ``12th``, ``1,023rd``."""
    teen = number % 100 in (11, 12, 13)
    return f"{number:,}{'th' if teen else _ENDINGS.get(number % 10, 'th')}"
