"""What many dumps repeat, kept once: rank lists of groups, stacks, descriptions, names.

At 16,384 ranks each of these stands in thousands of dumps. All threads use one
:class:`Shared`; whoever comes second finds what is there, and two that come at once keep
equal values.
"""

from dataclasses import dataclass, field

import orjson

from triage.domain.rank_digest import Frame, OpDescription
from triage.parsers.flight_recorder.limits import MAX_RANK


@dataclass(slots=True)
class Shared:
    """Values that many dumps repeat, kept once, keyed by hash of content."""

    rank_lists: dict[tuple[int, int], list[tuple[bytes, tuple[int, ...] | None]]] = field(
        default_factory=dict
    )
    stacks: dict[int, tuple[Frame, ...]] = field(default_factory=dict)
    operations: dict[int, OpDescription] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)

    def ranks(self, key: tuple[int, int], raw: bytes) -> tuple[int, ...] | None:
        """The parsed rank list of this text. Two texts of one hash are kept apart."""
        for text, ranks in self.rank_lists.get(key, ()):
            if text == raw:
                return ranks
        ranks = _parse_ranks(raw)
        self.rank_lists.setdefault(key, []).append((raw, ranks))
        return ranks


def _parse_ranks(raw: bytes) -> tuple[int, ...] | None:
    """``"[0, 1, 2]"`` as a tuple of distinct ranks; None when it is anything else."""
    try:
        values = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(values, list):
        return None
    for value in values:
        if type(value) is not int or not 0 <= value < MAX_RANK:
            return None
    return tuple(values) if len(set(values)) == len(values) else None
