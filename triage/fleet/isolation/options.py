"""What a test of a group of nodes can do, and within which limits groups are formed."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from triage.domain.wire import Share, WireForm
from triage.errors import UsageError

__all__ = ["IsolationOptions", "PlaceRule"]

MOST_ROUNDS: Final = 100
FEWEST_TESTS: Final = 256


class PlaceRule(StrEnum):
    """What the place of nodes (rack or leaf switch) asks of a group."""

    WITHIN = "within"
    ACROSS = "across"


@dataclass(frozen=True, slots=True)
class IsolationOptions(WireForm):
    """How good a test is, how large groups are, and when the search ends.

    A test whose group holds a bad node fails with probability ``recall``; with two bad nodes
    each is caught on its own. A test of good nodes fails with probability ``false_alarm``.
    ``expected`` is how many bad nodes are expected, ``nobody`` how likely there is none at all.
    A group has ``min_size`` to ``max_size`` nodes (no upper limit for None); 1 is a test that a
    node runs alone. A round has at most ``max_tests`` groups; None chooses by the number of nodes.
    ``certainty`` is the probability at which a node is called bad and the others are called good.
    """

    recall: Share = 0.95
    false_alarm: Share = 0.0
    expected: float = 0.5
    nobody: Share = 0.05
    min_size: Annotated[int, "Nodes of the smallest group."] = 2
    max_size: Annotated[int | None, "Nodes of the largest group; null is any number."] = None
    max_tests: Annotated[int | None, "Groups that a round has at most."] = None
    max_rounds: int = 12
    certainty: Share = 0.95

    def __post_init__(self) -> None:
        numbers = (self.recall, self.false_alarm, self.expected, self.nobody, self.certainty)
        if not all(math.isfinite(number) for number in numbers):
            raise UsageError("a rate of the test is no finite number")
        if not 0 <= self.false_alarm < self.recall <= 1:
            raise UsageError(
                f"recall {self.recall:g} and false alarms {self.false_alarm:g}: a test tells"
                " something where bad nodes fail it more often than good ones; give 0 to 1"
            )
        if not 0.01 <= self.expected <= 1_000:
            raise UsageError("expected bad nodes: give 0.01 to 1,000; 0.5 is usual")
        if not 0 <= self.nobody < 1:
            raise UsageError("nobody: the probability that no node is bad, 0 to below 1")
        if not 0.5 < self.certainty < 1:
            raise UsageError("certainty: give more than 0.5 and less than 1; 0.95 is usual")
        if self.min_size < 1 or (self.max_size is not None and self.max_size < self.min_size):
            raise UsageError("group size: the smallest is 1 or more, the largest no smaller")
        if self.max_tests is not None and self.max_tests < 1:
            raise UsageError("a round without a test tells nothing; give 1 or more")
        if not 1 <= self.max_rounds <= MOST_ROUNDS:
            raise UsageError(f"rounds: give 1 to {MOST_ROUNDS}")

    def tests_of_a_round(self, num_nodes: int) -> int:
        """How many groups a round over ``num_nodes`` has at most.

        Without a limit: as many as tell one bad node in two rounds, with room for a second one.
        """
        if self.max_tests is not None:
            return self.max_tests
        if self.min_size == 1:
            return num_nodes  # a node that is tested alone needs no group
        chosen = max(FEWEST_TESTS, 2 * math.isqrt(num_nodes) + 2)
        return chosen if self.max_size is None else chosen + num_nodes // self.max_size
