"""How far from UTC clocks are that print no zone: one answer for job logs, one for kernel logs.

A zone is a fact of a whole cluster; a single node that is off has a wrong clock,
which is not for here. So files vote, and without a clear majority UTC is assumed.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from triage.parsers.logs.stamps import MINUTE_NS

QUARTER_NS: Final = 15 * MINUTE_NS
# Nearer to a quarter of an hour than this is taken for one.
_SLACK_NS: Final = 3 * MINUTE_NS
# The offsets that somewhere on earth are law, in quarters of an hour.
_BROKEN: Final = (-38, -14, 14, 18, 22, 23, 26, 35, 38, 42, 51)
_OFFSETS: Final = frozenset((*range(-48, 57, 4), *_BROKEN))
# So many of the files that can tell must tell the same.
_SHARE: Final = 0.6


def quarter(difference_ns: int) -> int | None:
    """A difference as a possible zone in ns; None where it is none."""
    steps = (difference_ns + QUARTER_NS // 2) // QUARTER_NS
    if steps not in _OFFSETS or abs(difference_ns - steps * QUARTER_NS) > _SLACK_NS:
        return None
    return steps * QUARTER_NS


def agreed(votes: Iterable[int | None]) -> int | None:
    """The zone that most files vote for; None without a clear one."""
    cast = list(votes)
    counts = Counter(vote for vote in cast if vote is not None)
    if not counts:
        return None
    zone, count = min(counts.items(), key=lambda one: (-one[1], abs(one[0]), one[0]))
    return zone if count >= _SHARE * len(cast) else None
