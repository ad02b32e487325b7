"""What a test of a group of nodes can do, and how large groups are."""

import math
from dataclasses import dataclass
from typing import Final

from triage.errors import UsageError

__all__ = ["IsolationOptions"]

FEWEST_TESTS: Final = 256
# The kind of number, the least and the most.
BOUNDS: Final = {
    "recall": (float, 0, 1),
    "false_alarm": (float, 0, 1),
    "expected": (float, 0.01, 1_000),
    "nobody": (float, 0, 0.999),
    "min_size": (int, 1, 1_000_000),
    "max_size": (int, 1, 1_000_000),
    "certainty": (float, 0.501, 0.9999),
}


@dataclass(frozen=True, slots=True)
class IsolationOptions:
    """How good a test is, how large groups are, and when the search ends.

    A bad node fails the test of its group with probability ``recall``, each by itself; good nodes
    fail one with probability ``false_alarm``. ``expected`` bad nodes are expected, ``nobody`` is
    the probability that none is bad. Groups have ``min_size`` to ``max_size`` nodes, None is no
    limit. A node is called bad, and all others good, from a probability of ``certainty`` on.
    Raises UsageError.
    """

    recall: float = 0.95
    false_alarm: float = 0.0
    expected: float = 0.5
    nobody: float = 0.05
    min_size: int = 2
    max_size: int | None = None
    certainty: float = 0.95

    def __post_init__(self) -> None:
        for name, (kind, least, most) in BOUNDS.items():
            value = getattr(self, name)
            if value is None and name == "max_size":
                continue
            if type(value) not in {int, kind} or not least <= value <= most:
                raise UsageError(f"{name} {value!r}: give a number from {least:g} to {most:,g}")
        if self.false_alarm >= self.recall:
            raise UsageError(
                f"recall {self.recall:g} and false alarms {self.false_alarm:g}: a test tells"
                " something where bad nodes fail it more often than good ones"
            )
        if self.max_size is not None and self.max_size < self.min_size:
            raise UsageError("group size: the largest is smaller than the smallest")

    def tests_of_a_round(self, num_nodes: int) -> int:
        """Groups enough to find one bad node in two rounds, with room for a second one."""
        if self.min_size == 1:
            return num_nodes  # a node that is tested alone needs no group
        chosen = max(FEWEST_TESTS, 2 * math.isqrt(num_nodes) + 2)
        return chosen if self.max_size is None else chosen + num_nodes // self.max_size
