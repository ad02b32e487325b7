"""The job at the moment of the dumps: per group and member, how far each came.

Flat tables hold one row per (group, member), so that 16,384 ranks are a few
arrays. ``issued`` is the last collective a member put on its stream, ``pending``
the oldest one it has not finished. What nothing tells is UNKNOWN, which is not
the same as zero: a ring that wrapped has forgotten, a group without a
communicator was never entered.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from triage.analysis.snapshots.groups import Group, Membership
from triage.domain.arrays import I64, Flags
from triage.domain.job import Job
from triage.domain.rank_digest import P2P, OpDescription, RankDigest

UNKNOWN: Final = -1
NOTHING: Final = 1 << 62  # "no operation is pending"


@dataclass(frozen=True, slots=True)
class Stuck:
    """The operation a rank is stuck in: its oldest unfinished one.

    ``row`` is its place among the digest's pending units; None when only the
    counters tell of it (``inferred``), or when it ended with an error
    (``broken``: gloo retires an operation whose peer has gone).
    """

    group: int
    seq: int
    p2p: bool
    row: int | None = None
    inferred: bool = False
    broken: bool = False


@dataclass(slots=True, eq=False, weakref_slot=True)
class Snapshot:
    """What the detectors read."""

    digests: Sequence[RankDigest]
    ranks: I64
    membership: Membership
    operations: dict[int, OpDescription]
    job: Job
    node_of: Callable[[int], str | None]
    world: tuple[int, ...]
    member_rank: I64
    member_digest: I64
    issued: I64
    pending: I64
    done: I64
    started: I64
    has_p2p: Flags
    stuck: list[Stuck | None]
    index_of: dict[int, int]
    place_of: list[dict[int, int] | range]
    """Per group, where its ranks stand in it: those that are evenly spaced need no table."""
    only_active: bool = False
    """Whether the dumps leave out what is finished."""
    apart: dict[int, str] = field(default_factory=dict)
    """Ranks whose dump is of another moment, with the reason: neither guilty nor witnesses."""
    unread: frozenset[int] = frozenset()
    """Ranks whose dump came in and cannot be read."""
    notes: list[str] = field(default_factory=list)

    @property
    def groups(self) -> list[Group]:
        """All process groups."""
        return self.membership.groups

    def rows(self, group: int) -> slice:
        """The group's rows in the flat tables."""
        its = self.groups[group]
        return slice(its.first, its.first + len(its.ranks))

    def row(self, group: int, rank: int) -> int:
        """One member's row; -1 when the rank is no member."""
        places = self.place_of[group]
        if isinstance(places, range):
            place = places.index(rank) if rank in places else -1
        else:
            place = places.get(rank, -1)
        return self.groups[group].first + place if place >= 0 else -1

    def digest_of(self, rank: int) -> RankDigest | None:
        """The rank's dump, unless it is missing or of another moment."""
        index = self.index_of.get(rank)
        return None if index is None or rank in self.apart else self.digests[index]

    def stuck_of(self, rank: int) -> Stuck | None:
        """Where a rank is stuck; None when it is idle, absent or apart."""
        index = self.index_of.get(rank)
        return None if index is None or rank in self.apart else self.stuck[index]

    def group_streams(self, index: int, group: int) -> list[int]:
        """The streams of digest ``index`` that are this group."""
        return [k for k, g in enumerate(self.membership.stream_groups[index]) if g == group]

    def last_place(self, index: int) -> tuple[str, int] | None:
        """Kind of group and number of the last operation of digest ``index``."""
        last = self.digests[index].last_unit
        if last is None:
            return None
        group = self.membership.stream_groups[index][last.stream]
        return (self.groups[group].desc if group >= 0 else "", last.seq)

    def signature(self, rank: int, group: int, seq: int) -> int | None:
        """Signature of collective ``seq`` of a group on one rank, while its record holds it."""
        index = self.index_of.get(rank)
        if index is None:
            return None
        digest = self.digests[index]
        for stream in self.group_streams(index, group):
            pending = digest.pending
            hit = (pending.stream == stream) & (pending.seq == seq) & ((pending.flags & P2P) == 0)
            if hit.any():
                return int(pending.sig[np.argmax(hit)])
            past = digest.history.read()
            hit = (past.stream == stream) & (past.seq == seq) & ((past.flags & P2P) == 0)
            if hit.any():
                return int(past.sig[np.argmax(hit)])
        return None

    def describe(self, sig: int | None) -> OpDescription | None:
        """What the operation with this signature is, if any dump said it."""
        return None if sig is None else self.operations.get(sig)
