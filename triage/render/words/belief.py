"""Belief: a probability in two digits that never claims to be certain."""

_MOST = 0.99


def format_belief(probability: float) -> str:
    """``0.97``; what would round to 1.00 is ``0.99``: the whole number is in the JSON."""
    return f"{min(probability, _MOST):.2f}"
