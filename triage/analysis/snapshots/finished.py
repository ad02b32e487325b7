"""The newest finished operations of all ranks, as flat arrays."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from triage.analysis.snapshots.snapshot import Snapshot
from triage.domain.arrays import F64, I64, Flags
from triage.domain.rank_digest import FINISHED, MISSING, P2P

# All rows together; a few hundred operations per rank decide.
_MAX_ROWS: Final = 4_000_000
# Clocks are told apart by so many, in a job of however many ranks ...
_MIN_UNITS: Final = 24
# ... and who is late in each step is not seen by fewer than these.
TELLING_UNITS: Final = 128
# Up to this many numbers a row, a table of all numbers costs less than sorting the rows.
_SPARSE: Final = 4


@dataclass(frozen=True, slots=True)
class FinishedOperations:
    """One row per finished operation: parallel arrays, in record order within a rank.

    Send/recv is there for the gap before it; who waited for whom in it is not told,
    so the gap behind it does not count.
    """

    digest: I64
    group: I64
    desc: I64
    seq: I64
    created: F64
    completed: F64
    p2p: Flags
    first: Flags
    """The first row of its rank, or one after an operation that is not compared."""
    lasted: F64
    """How long it ran on the device, ns, waiting for peers included; NaN where timing was off."""
    sig: I64
    """What was called with what sizes: the signature of the digest."""


def number_collectives(rows: FinishedOperations) -> I64:
    """The same number for all members of one collective; send/recv rows stand alone."""
    key = number_pairs(rows.group, rows.seq)
    alone = np.flatnonzero(rows.p2p)
    key[alone] = int(key.max()) + 1 + np.arange(len(alone))
    return key


def choose_units_compared(num_digests: int) -> int:
    """How many of the newest operations of each rank are compared with others'."""
    return int(np.clip(_MAX_ROWS // max(num_digests, 1), _MIN_UNITS, 1024))


def collect_finished_operations(snapshot: Snapshot) -> FinishedOperations:
    """The newest finished collectives of every rank as flat arrays."""
    keep = choose_units_compared(len(snapshot.digests))
    descs: dict[str, int] = {}
    desc_of = np.array(
        [descs.setdefault(group.desc, len(descs)) for group in snapshot.groups] + [-1], np.int64
    )
    parts: dict[str, list[NDArray[Any]]] = defaultdict(list)
    for index, digest in enumerate(snapshot.digests):
        if int(snapshot.ranks[index]) in snapshot.apart or not len(digest.history):
            continue
        table = np.array([*snapshot.membership.stream_groups[index], -1], np.int64)
        past = digest.history.read()
        group = table[past.stream[-keep:]]
        flags = past.flags[-keep:]
        created = past.created[-keep:]
        good = (group >= 0) & ((flags & FINISHED) != 0) & (created != MISSING)
        first = np.ones(len(good), np.bool_)
        first[1:] = ~good[:-1]
        wait = past.wait_us[-keep:].astype(np.float64) * 1e3
        lasted = np.full(len(good), np.nan)
        if past.lasted_us is not None:
            us = past.lasted_us[-keep:].astype(np.float64)
            lasted = np.where(us >= 0, us * 1e3, np.nan)
        columns: dict[str, NDArray[Any]] = {
            "digest": np.full(len(good), index, np.int64),
            "group": group,
            "desc": desc_of[group],
            "seq": past.seq[-keep:].astype(np.int64),
            "created": created.astype(np.float64),
            "completed": np.where(wait >= 0, created + wait, np.nan),
            "p2p": (flags & P2P) != 0,
            "first": first,
            "lasted": lasted,
            "sig": past.sig[-keep:],
        }
        for name, values in columns.items():
            parts[name].append(values[good])
    if not parts:
        none, no_times = np.empty(0, np.int64), np.empty(0)
        return FinishedOperations(
            none, none, none, none, no_times, no_times, none > 0, none > 0, no_times, none
        )
    return FinishedOperations(**{name: np.concatenate(part) for name, part in parts.items()})


def number_pairs(major: I64, minor: I64) -> I64:
    """Pairs as dense numbers, in the order of the pairs; ``major`` counts from 0."""
    count = int(major.max()) + 1
    low, high = np.full(count, minor.max()), np.full(count, minor.min())
    np.minimum.at(low, major, minor)
    np.maximum.at(high, major, minor)
    # As floats: what a dump says may be as far apart as integers can be.
    apart = np.maximum(high.astype(np.float64) - low.astype(np.float64) + 1, 0)
    if apart.sum() > _SPARSE * len(minor):
        order = np.lexsort((minor, major))
        fresh = (np.diff(major[order]) != 0) | (np.diff(minor[order]) != 0)
        dense = np.zeros(len(minor), np.int64)
        dense[order[1:]] = np.cumsum(fresh)
        return dense
    # Nearly every number between the lowest and the highest is there: counting beats sorting.
    width = apart.astype(np.int64)
    pair = (np.cumsum(width) - width - low)[major] + minor
    there = np.zeros(int(width.sum()), np.bool_)
    there[pair] = True
    number: I64 = (np.cumsum(there) - 1)[pair]
    return number
