"""The record of a fleet, as columns: what every question of this package is answered from.

It is plain arrays, so that a year of 2,048 nodes (3,000 runs of all nodes, six million
memberships) is summed in milliseconds. Times are ns since the epoch in UTC.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, Self, get_type_hints

import numpy as np
import numpy.typing as npt

from triage.domain.category import Category
from triage.domain.health import CheckResult
from triage.fleet.domain.cause import OutageCause, RepairAction

Ints = npt.NDArray[np.int64]
Small = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def convert_to_epoch_ns(at: datetime) -> int:
    """Nanoseconds since the epoch."""
    return (at - EPOCH) // _MICROSECOND * 1000


def convert_from_epoch_ns(ns: int) -> datetime:
    """The time that lies so many nanoseconds after the epoch."""
    return datetime.fromtimestamp(ns / 1e9, UTC)


_DTYPES: Final = {Ints: np.int64, Small: np.int32, Flags: np.bool_, Floats: np.float64}


class Columns:
    """A dataclass of columns, each an array, or a tuple of what is no number."""

    __slots__ = ()

    @classmethod
    def of_rows(cls, rows: Sequence[object], **columns: object) -> Self:
        """The columns of rows, in their order, whose attributes have their names.

        ``columns`` are those that the rows do not have. A whole number that is too large for its
        column is the largest that it holds.
        """
        for name, kind in get_type_hints(cls).items():
            if name in columns:
                continue
            values = [getattr(row, name) for row in rows]
            if kind == Small:
                most = np.iinfo(np.int32).max
                columns[name] = np.minimum(np.array(values, np.int64), most).astype(np.int32)
            else:
                dtype = _DTYPES.get(kind)
                columns[name] = tuple(values) if dtype is None else np.array(values, dtype)
        return cls(**columns)

    def take(self, rows: Flags | Ints) -> Self:
        """Only these rows, marked or by their places; what is no column stays."""
        columns = {name: getattr(self, name) for name in get_type_hints(type(self))}
        arrays = {name: one[rows] for name, one in columns.items() if isinstance(one, np.ndarray)}
        return type(self)(**(columns | arrays))


@dataclass(frozen=True, slots=True)
class Runs(Columns):
    """Runs, by start, cut to the time of the record.

    ``end_ns`` of a run that has no end yet is when it was last heard of.

    ``node_at[i]:node_at[i + 1]`` is the part of ``node`` (indices into the record's nodes) that
    run ``i`` was on; empty where only ``num_nodes`` is known.
    """

    start_ns: Ints
    end_ns: Ints
    num_nodes: Small
    num_gpus: Small
    interrupted: Flags  # ended unexpectedly
    planned: Flags
    node_at: Ints  # shape (runs + 1,)
    node: Small

    def find_gpus_per_node(self) -> int | None:
        """What most runs had, the larger of two that are as frequent; None where no run says it."""
        known = (self.num_nodes > 0) & (self.num_gpus > 0)
        whole = known & (self.num_gpus % np.maximum(self.num_nodes, 1) == 0)
        each, counts = np.unique(self.num_gpus[whole] // self.num_nodes[whole], return_counts=True)
        return int(each[counts == counts.max()][-1]) if len(each) else None


@dataclass(frozen=True, slots=True)
class Interruptions(Columns):
    """Stops of runs, by time: those that were triaged, and those only a scheduler knows of.

    ``run`` is -1 where no run is known; ``num_gpus`` is 0 where nobody said how large it was.
    ``cause`` is what a person resolved it as, else the verdict; None where it was not triaged.
    ``resolved`` tells the two apart. ``planned`` ones are never counted into a rate.
    """

    at_ns: Ints
    cause: tuple[Category | None, ...]
    resolved: Flags
    planned: Flags
    run: Small
    num_gpus: Small
    incident_id: tuple[str | None, ...]


class Accusation(NamedTuple):
    """One row of :class:`Accusations`."""

    interruption: int
    node: int
    position: int
    score: float
    convicted: bool
    category: Category
    part: str | None


@dataclass(frozen=True, slots=True)
class Accusations(Columns):
    """The suspects of interruptions, who share the blame of each by ``score``.

    Culprits and possible ones; no node that was only ``affected``, none that a person cleared.
    ``position`` counts from 1. ``convicted`` is the role culprit. ``part`` is the repeated part
    as ``triage.analysis.facts.part`` words it (a GPU, a NIC, a link), None for the node alone.
    """

    interruption: Small
    node: Small
    position: Small
    score: Floats
    convicted: Flags
    category: tuple[Category, ...]
    part: tuple[str | None, ...]


class OutageStretch(NamedTuple):
    """One row of :class:`Outages`."""

    node: int
    start_ns: int
    end_ns: int
    reason: str
    cause: OutageCause
    action: RepairAction | None
    planned: bool

    def touches(self, later: "OutageStretch") -> bool:
        """Whether both are one stretch of the same node."""
        same = (self.node, self.planned) == (later.node, later.planned)
        return same and later.start_ns <= self.end_ns

    def joined(self, later: "OutageStretch") -> "OutageStretch":
        """Both as one."""
        return self._replace(
            end_ns=max(self.end_ns, later.end_ns),
            reason=self.reason or later.reason,
            cause=later.cause if self.cause is OutageCause.UNKNOWN else self.cause,
            action=later.action or self.action,
        )


@dataclass(frozen=True, slots=True)
class Outages(Columns):
    """Nodes out of service; ``end_ns`` of one that still is, is the end of the record.

    ``cause`` is why and ``action`` what was done before the node came back; ``planned`` ones
    (maintenance) are no faults.
    """

    node: Small
    start_ns: Ints
    end_ns: Ints
    reason: tuple[str, ...]
    cause: tuple[OutageCause, ...]
    action: tuple[RepairAction | None, ...]
    planned: Flags

    def rows(self) -> list[OutageStretch]:
        """One stretch for each of them, in their order."""
        times = (self.node.tolist(), self.start_ns.tolist(), self.end_ns.tolist())
        told = (self.reason, self.cause, self.action, self.planned.tolist())
        return [OutageStretch(*row) for row in zip(*times, *told, strict=True)]


@dataclass(frozen=True, slots=True)
class RepairNotes(Columns):
    """What notes say was done to nodes, by time, whether or not an outage is known around it."""

    node: Small
    at_ns: Ints
    action: tuple[RepairAction, ...]
    text: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodeSignals:
    """What else is known of one node within the record."""

    distinct_xids: tuple[int, ...] = ()
    straggler_hits: int = 0
    checks: tuple[CheckResult, ...] = ()
    """The newest result of each check and part."""
    telemetry: Mapping[str, float] = field(default_factory=dict)
    """Over the last 28 days: ``throttled_hours``, ``ecc_growth``, ``remap_growth`` ..."""


@dataclass(frozen=True, slots=True)
class FleetRecord:
    """Everything known of a fleet between two times.

    ``nodes`` are sorted names; ``generation``, ``rack`` and ``leaf_switch`` are parallel to
    them, and so are ``batch`` (the delivery), ``cage``, ``slot`` and ``role`` (what work a node
    does, None for that of most), which are empty where no inventory says any.
    ``gpus_per_node`` is what most runs had, None where no run says it. ``repairs`` are notes that
    came apart from the outage that they are about, None where there are none. ``notes`` say
    what is missing (incidents without a run, runs without nodes).
    """

    since_ns: int
    until_ns: int
    nodes: tuple[str, ...]
    generation: tuple[str | None, ...]
    rack: tuple[str | None, ...]
    leaf_switch: tuple[str | None, ...]
    runs: Runs
    interruptions: Interruptions
    accusations: Accusations
    outages: Outages
    signals: Mapping[str, NodeSignals] = field(default_factory=dict)
    gpus_per_node: int | None = None
    cluster: str | None = None
    notes: tuple[str, ...] = ()
    batch: tuple[str | None, ...] = ()
    cage: tuple[str | None, ...] = ()
    slot: tuple[str | None, ...] = ()
    role: tuple[str | None, ...] = ()
    repairs: RepairNotes | None = None
