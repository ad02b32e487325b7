"""Names in the order that people count in: n2 before n10."""

from triage.domain.patterns import compile_re

_DIGITS = compile_re(r"([0-9]{1,18})")


def make_natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key to sort names by: their numbers as numbers, what stands between as text."""
    return tuple(
        (1, int(part), part) if index % 2 else (0, 0, part)
        for index, part in enumerate(_DIGITS.split(name))
    )
