"""The columns of a simulated record while they are filled; times come in days."""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from triage.domain.category import Category
from triage.fleet.domain.cause import OutageCause, RepairAction
from triage.fleet.record.columns import Accusation, Accusations, Interruptions, Outages, Runs

DAY_NS: Final = 86_400 * 10**9
_GPUS_PER_NODE: Final = 8
_Ints = npt.NDArray[np.int64]


class OutageRow(NamedTuple):
    """A node out of service."""

    node: int
    start: float
    end: float
    reason: str = "drained after an interruption"
    cause: OutageCause = OutageCause.UNKNOWN
    action: RepairAction | None = None
    planned: bool = False


class Columns:
    """Rows as they happen, in no order of time; :meth:`arrays` sorts them."""

    def __init__(self) -> None:
        self.start: list[float] = []
        self.end: list[float] = []
        self.nodes: list[_Ints] = []
        self.interrupted: list[bool] = []
        self.stops: list[tuple[float, int, Category, int | None]] = []
        self.accused: list[Accusation] = []
        self.outages: list[OutageRow] = []
        self.planned: set[int] = set()

    def add_run(self, start: float, end: float, nodes: _Ints, *, interrupted: bool) -> int:
        """A run; its number."""
        self.start.append(start)
        self.end.append(end)
        self.nodes.append(nodes)
        self.interrupted.append(interrupted)
        return len(self.start) - 1

    def add_stop(self, at: float, run: int, category: Category, culprit: int | None) -> None:
        """An interruption; what is accused next is accused of this one."""
        self.stops.append((at, run, category, culprit))

    def accuse(
        self,
        node: int,
        position: int,
        score: float,
        category: Category,
        *,
        convicted: bool = False,
        part: str | None = None,
    ) -> None:
        """A suspect of the newest interruption."""
        stop = len(self.stops) - 1
        self.accused.append(Accusation(stop, node, position, score, convicted, category, part))

    def accuse_all(self, nodes: _Ints, score: float, category: Category) -> None:
        """A tie, in the order given."""
        for position, node in enumerate(nodes.tolist(), start=1):
            self.accuse(node, position, score, category)

    def add_outage(self, node: int, start: float, end: float) -> None:
        """A node out of service."""
        self.outages.append(OutageRow(node, start, end))

    def arrays(
        self, days: float, since_ns: int
    ) -> tuple[Runs, Interruptions, Accusations, Outages, list[int | None]]:
        """The columns by time, and the culprit of each interruption."""

        def ns(values: list[float]) -> _Ints:
            clipped = np.minimum(np.array(values, dtype=np.float64), days)
            return since_ns + np.round(clipped * DAY_NS).astype(np.int64)

        by_start = np.argsort(self.start, kind="stable")
        place_of_run = np.empty(len(self.start), dtype=np.int32)
        place_of_run[by_start] = np.arange(len(self.start))
        nodes = [self.nodes[run] for run in by_start.tolist()]
        num_nodes = np.array([*map(len, nodes)], dtype=np.int32)
        interrupted = np.array(self.interrupted, dtype=bool)[by_start]
        runs = Runs(
            start_ns=ns(self.start)[by_start],
            end_ns=ns(self.end)[by_start],
            num_nodes=num_nodes,
            num_gpus=num_nodes * _GPUS_PER_NODE,
            interrupted=interrupted,
            planned=np.array([run in self.planned for run in by_start.tolist()], dtype=bool),
            node_at=np.concatenate(([0], np.cumsum(num_nodes, dtype=np.int64))),
            node=np.concatenate([np.zeros(0, dtype=np.int64), *nodes]).astype(np.int32),
        )
        order = sorted(range(len(self.stops)), key=lambda stop: self.stops[stop][0])
        stops = [self.stops[stop] for stop in order]
        run_of = place_of_run[[run for _, run, _, _ in stops]] if stops else place_of_run[:0]
        return (
            runs,
            Interruptions(
                at_ns=ns([at for at, _, _, _ in stops]),
                cause=tuple(category for _, _, category, _ in stops),
                resolved=np.zeros(len(stops), dtype=bool),
                planned=np.zeros(len(stops), dtype=bool),
                run=run_of,
                num_gpus=runs.num_gpus[run_of],
                incident_id=tuple(f"inc{number:06d}" for number in range(len(stops))),
            ),
            self.accusations(order),
            Outages(
                node=np.array([row.node for row in self.outages], dtype=np.int32),
                start_ns=np.maximum(ns([row.start for row in self.outages]), since_ns),
                end_ns=ns([row.end for row in self.outages]),
                reason=tuple(row.reason for row in self.outages),
                cause=tuple(row.cause for row in self.outages),
                action=tuple(row.action for row in self.outages),
                planned=np.array([row.planned for row in self.outages], dtype=bool),
            ),
            [culprit for _, _, _, culprit in stops],
        )

    def accusations(self, order: list[int]) -> Accusations:
        """The suspects, by interruption and position."""
        place = {stop: at for at, stop in enumerate(order)}
        rows = [row._replace(interruption=place[row.interruption]) for row in self.accused]
        rows.sort(key=lambda row: (row.interruption, row.position))
        return Accusations.of_rows(rows)
