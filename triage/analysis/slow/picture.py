"""Slow ranks of a snapshot, by the durations of its dumps."""

from dataclasses import dataclass

import numpy as np

from triage.analysis.slow.judge import OddOne, odd_ones
from triage.analysis.slow.own_time import OwnTime, measure_own_time
from triage.analysis.snapshots.finished import FinishedOperations, finished_operations
from triage.analysis.snapshots.snapshot import Snapshot
from triage.analysis.waiting.lateness import measure
from triage.domain.arrays import F64, I64

__all__ = ["SlowRanks", "slow_ranks"]


@dataclass(frozen=True, slots=True)
class SlowRanks:
    """The rows that were compared, the own times of all digests, and who stands out."""

    rows: FinishedOperations
    times: OwnTime
    odd: tuple[OddOne, ...]


def slow_ranks(snapshot: Snapshot) -> SlowRanks | None:
    """Who is slow; None without durations, or on too little data."""
    if not any(digest.history.timed for digest in snapshot.digests[:64]):
        return None
    rows = finished_operations(snapshot)
    times = measure_own_time(rows, len(snapshot.digests))
    if times is None:
        return None
    odd = odd_ones(times, issued_late_ns(snapshot), nodes_of(snapshot))
    return SlowRanks(rows, times, tuple(odd))


def issued_late_ns(snapshot: Snapshot) -> F64:
    """Per digest, how late a step its host issues by its own doing."""
    late = measure(snapshot, snapshot.node_of)
    return np.zeros(len(snapshot.digests)) if late is None else late.delay_ms * 1e6


def nodes_of(snapshot: Snapshot) -> I64:
    """Per digest, a number for its node; -1 where it is not known."""
    numbers: dict[str, int] = {}
    found = np.full(len(snapshot.digests), -1, np.int64)
    for index, rank in enumerate(snapshot.ranks.tolist()):
        node = snapshot.node_of(rank)
        if node is not None:
            found[index] = numbers.setdefault(node, len(numbers))
    return found
