"""A first answer while files still come: where all ranks stand, and a sample of what they did.

Who hangs is told by the frontiers alone in nearly all jobs. A slow rank, and one of two that
disagree, is told by histories: where the sample convicts nobody of a stop, all are read.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import ceil
from typing import Final

import numpy as np

from triage.analysis.answer import Weighing, weigh_incident
from triage.domain.category import Role, VerdictKind
from triage.domain.job import Job
from triage.domain.rank_digest import S_DONE, S_FINISHED, S_LAST, S_P2P, S_PENDING, Past, RankDigest
from triage.parsers.flight_recorder.dump_set import DumpSet
from triage.parsers.logs.logset import LogSet

# An answer to fewer dumps takes less than half a second.
MANY: Final = 2048
# What the frontiers tell; a slow rank and a healthy job are told by histories.
_STOPPED: Final = frozenset({VerdictKind.HANG, VerdictKind.DESYNC, VerdictKind.CRASH})


def weigh_sample(
    dumps: DumpSet, logs: LogSet, facts: Job, at: datetime | None, many: int | None = None
) -> tuple[Weighing, Sequence[str]] | None:
    """What a sample of the histories says, and a note on it.

    None where it does not do: for fewer than ``many`` dumps (None: :data:`MANY`), or where it
    convicts nobody of a stop.
    """
    num_dumps = len(dumps.digests)
    if num_dumps < (MANY if many is None else many):
        return None
    weighed = weigh_incident(replace(dumps, digests=sample_digests(dumps.digests)), logs, facts, at)
    decision = weighed.joined.decision
    if decision.verdict.kind not in _STOPPED:
        return None
    if not any(one.role is Role.CULPRIT for one in decision.suspects):
        return None
    note = (
        f"a first answer: where all {num_dumps:,} dumps stand, and the past operations of"
        f" {count_chosen(num_dumps):,} of them; the settled answer compares all"
    )
    return weighed, (note,)


# A digest's tables say where its rank stands in each group: what it finished last, and what it
# waits in. Nine tenths of a digest are its history. Histories are read of those ranks that differ
# from the others: one of each class of ranks that stand alike, the small classes first, and in
# each class the rank that fell silent first.

_SHARE: Final = 0.01
# Of a small job a hundredth is nobody.
_LEAST: Final = 4
_NONE: Final = np.empty(0, np.int64)
NOTHING: Final = Past(
    np.empty(0, np.int16), _NONE, _NONE, _NONE, np.empty(0, np.uint8), np.empty(0, np.int32)
)


@dataclass(frozen=True, slots=True, eq=False)
class _UnreadHistory:
    """A history that is left where it lies: how long it is, and whether anything is finished."""

    num_units: int
    any_finished: bool
    any_fresh: bool = False
    timed: bool = False
    """Of no operation, as :meth:`read` gives none."""

    def __len__(self) -> int:
        return self.num_units

    def read(self) -> Past:
        """No operation."""
        return NOTHING


def count_chosen(num_digests: int) -> int:
    """How many histories are read of so many."""
    return min(num_digests, max(_LEAST, ceil(_SHARE * num_digests)))


def sample_digests(digests: Sequence[RankDigest]) -> list[RankDigest]:
    """The same digests; the histories of all but a hundredth of them unread."""
    read = choose_digests(digests, count_chosen(len(digests)))
    return [
        digest
        if index in read
        else replace(
            digest, history=_UnreadHistory(len(digest.history), digest.history.any_finished)
        )
        for index, digest in enumerate(digests)
    ]


def choose_digests(digests: Sequence[RankDigest], count: int) -> frozenset[int]:
    """Indices of ``count`` digests: one of each class, then a second one; small classes first."""
    classes: dict[Hashable, list[int]] = {}
    for index, digest in enumerate(digests):
        classes.setdefault(_get_standing(digest), []).append(index)

    def turn(index: int) -> tuple[int, int, str]:
        digest = digests[index]
        return digest.last_created_ns or 0, digest.rank, digest.artifact

    ranked = [
        (position, len(members), *turn(index), index)
        for members in classes.values()
        for position, index in enumerate(sorted(members, key=turn))
    ]
    return frozenset(row[-1] for row in sorted(ranked)[:count])


def _get_standing(digest: RankDigest) -> Hashable:
    """Where a rank stands in groups of each kind, and in which operation it waits."""
    columns = digest.streams.values[:, [S_LAST, S_PENDING, S_FINISHED, S_DONE, S_P2P]].tolist()
    kinds = [desc for _, desc in digest.stream_names]
    rows = sorted(
        (str(kinds[stream.name]) if 0 <= stream.name < len(kinds) else "", *row)
        for stream, row in zip(digest.streams, columns, strict=True)
    )
    waits = int(digest.pending.sig[0]) if len(digest.pending) else None
    return tuple(map(tuple, rows)), waits, digest.partial is None
