"""A fleet like a real one: its runs, while nodes fail by :mod:`fault_process` and come back.

A fault interrupts the run that is on the node, and a node in repair neither runs nor fails. A
maintenance ends runs as planned. Software and a bad leaf switch interrupt runs beside that.
"""

import heapq
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from simulator.fleet.columns import Columns, OutageRow
from simulator.fleet.fault_kinds import KINDS
from simulator.fleet.fault_process import fault_history
from simulator.fleet.places import places_of
from simulator.fleet.suspects import accuse, accuse_behind_leaf, accuse_of_software
from simulator.fleet.truth import SimulatedFleet, TrueFault
from simulator.fleet.wish import LLAMA3_PER_NODE_DAY, FaultModel, FleetWish
from simulator.fleet.workload import (
    FLAGSHIP_DAYS,
    HARDWARE_SHARE,
    MEAN_DAYS,
    SINCE_NS,
    SIZES,
    node_names,
)
from triage.fleet.domain.cause import OutageCause
from triage.fleet.record.columns import FleetRecord

_Ints = npt.NDArray[np.int64]

_OF_CAUSE: Final = {kind.cause: kind for kind in KINDS}
# What happens at one time happens in this order: who comes back, who goes, what stops.
_BACK, _OUT, _ENDS, _SOFTWARE, _LEAF = range(5)


class RealFleet:
    """The fleet while its days go by; times are days since its first."""

    def __init__(self, wish: FleetWish, model: FaultModel) -> None:
        self.wish, self.model = wish, model
        self.names = tuple(node_names(wish.nodes))
        self.number = {name: node for node, name in enumerate(self.names)}
        self.places = places_of(wish, model, self.names)
        self.history = fault_history(wish, model, self.places)
        self.chance = np.random.default_rng([wish.seed, wish.nodes, 4])
        self.columns = Columns()
        self.run_of = np.full(wish.nodes, -1)
        self.away = self.places.special.copy()
        self.members: dict[int, _Ints] = {}
        self.flagship: int | None = None
        self.events: list[tuple[float, int, int, int]] = []
        leaves = int(self.places.leaf[-1]) + 1
        bad = min(wish.bad_leaves, leaves)
        self.bad_leaves = np.sort(self.chance.choice(leaves, bad, replace=False))

    def lived(self) -> SimulatedFleet:
        """All days, then the record of them."""
        self.plan_outages()
        self.plan_stops()
        heapq.heapify(self.events)
        if not self.events or self.events[0][0] > 0:
            self.fill(0.0)
        while self.events:
            day, kind, _, what = heapq.heappop(self.events)
            if kind == _BACK:
                node = self.columns.outages[what].node
                self.away[node] = self.places.special[node]
            elif kind == _OUT:
                self.take_out(day, what)
            elif kind == _ENDS:
                if what in self.members:
                    self.end(what, day)
            elif kind == _SOFTWARE:
                self.stop_by_software(day, what)
            else:
                self.stop_by_leaf(day, what)
            if not self.events or self.events[0][0] > day:
                self.fill(day)
        return self.truth()

    def plan_outages(self) -> None:
        """The outages as rows, by start, and when each begins and ends."""
        words_chance = np.random.default_rng([self.wish.seed, self.wish.nodes, 5])
        rows: list[tuple[OutageRow, TrueFault | None]] = []
        for fault in self.history.faults:
            words = _OF_CAUSE[fault.cause].words
            reason = "; ".join(words[int(words_chance.integers(len(words)))])
            known = (
                words_chance.random() < self.model.action_share and fault.end_day < self.wish.days
            )
            row = OutageRow(
                self.number[fault.node], max(fault.start_day, 0.0), fault.end_day, reason,
                fault.cause, fault.action if known else None,
            )  # fmt: skip
            rows.append((row, fault))
        for planned in self.history.planned:
            row = OutageRow(
                planned.node, max(planned.start_day, 0.0), planned.end_day,
                "planned maintenance", OutageCause.MAINTENANCE, None, planned=True,
            )  # fmt: skip
            rows.append((row, None))
        rows.sort(key=lambda pair: (pair[0].start, pair[0].node))
        place = {id(fault): number for number, (_, fault) in enumerate(rows) if fault is not None}
        self.history.faults = [
            replace(fault, outage=place[id(fault)]) for fault in self.history.faults
        ]
        self.fault_of = {fault.outage: fault for fault in self.history.faults}
        self.columns.outages = [row for row, _ in rows]
        for number, row in enumerate(self.columns.outages):
            self.events.append((row.start, _OUT, number, number))
            self.events.append((row.end, _BACK, number, number))

    def plan_stops(self) -> None:
        """Stops that no node causes: drawn of all nodes, they befall those that are in a run."""
        rate = LLAMA3_PER_NODE_DAY * (1 - HARDWARE_SHARE) * self.wish.nodes
        for kind, per_day, among in (
            (_SOFTWARE, rate, np.arange(self.wish.nodes)),
            *((_LEAF, self.wish.leaf_per_day, np.array([leaf])) for leaf in self.bad_leaves),
        ):
            number = int(self.chance.poisson(per_day * self.wish.days))
            days = np.sort(self.chance.uniform(0, self.wish.days, number))
            drawn = self.chance.choice(among, number)
            self.events += [
                (day, kind, order, what)
                for order, (day, what) in enumerate(zip(days.tolist(), drawn.tolist(), strict=True))
            ]

    def fill(self, now: float) -> None:
        """Start runs until nearly nothing is free."""
        if now >= self.wish.days:
            return
        free = np.flatnonzero((self.run_of < 0) & ~self.away)
        if self.flagship is None and (size := int(self.wish.flagship * self.wish.nodes)):
            size = min(size, len(free))
            if size:
                self.flagship = self.start(now, size, free, FLAGSHIP_DAYS)
                free = np.flatnonzero((self.run_of < 0) & ~self.away)
        sizes = np.array([size for size, _ in SIZES])
        weights = np.array([weight for _, weight in SIZES], dtype=float)
        while len(free) > self.wish.nodes // 50:
            size = int(self.chance.choice(sizes, p=weights / weights.sum()))
            self.start(now, min(size, len(free)), free, MEAN_DAYS)
            free = free[self.run_of[free] < 0]

    def start(self, now: float, size: int, free: _Ints, mean_days: float) -> int:
        """Start a run on free nodes; its number."""
        nodes = np.sort(self.chance.choice(free, size, replace=False))
        run = self.columns.add_run(now, self.wish.days, nodes, interrupted=False)
        self.run_of[nodes] = run
        self.members[run] = nodes
        end = now + float(self.chance.exponential(mean_days))
        if end < self.wish.days:
            heapq.heappush(self.events, (end, _ENDS, run, run))
        return run

    def end(self, run: int, day: float, *, interrupted: bool = False) -> _Ints:
        """A run ends, and its nodes come free; they are what comes back."""
        nodes = self.members.pop(run)
        self.run_of[nodes] = -1
        self.columns.end[run] = day
        self.columns.interrupted[run] = interrupted
        if run == self.flagship:
            self.flagship = None
        return nodes

    def take_out(self, day: float, outage: int) -> None:
        """A node goes out of service; the run on it ends."""
        row = self.columns.outages[outage]
        self.away[row.node] = True
        run = int(self.run_of[row.node])
        if run < 0:
            return
        nodes = self.end(run, day, interrupted=not row.planned)
        if row.planned:
            self.columns.planned.add(run)
            return
        fault = self.fault_of[outage]
        category = _OF_CAUSE[fault.cause].category
        part = None if fault.slot is None else f"GPU 0000:{0x1B + 0x10 * fault.slot:02x}:00"
        self.columns.add_stop(day, run, category, row.node)
        accuse(self.wish, self.chance, self.columns, nodes, row.node, category, part)

    def stop_by_software(self, day: float, node: int) -> None:
        """The run that is on the node is interrupted by its own program."""
        run = int(self.run_of[node])
        if run >= 0:
            nodes = self.end(run, day, interrupted=True)
            accuse_of_software(self.wish, self.chance, self.columns, day, run, nodes)

    def stop_by_leaf(self, day: float, leaf: int) -> None:
        """One of the runs behind the switch is interrupted."""
        behind = np.flatnonzero((self.places.leaf == leaf) & (self.run_of >= 0))
        if not len(behind):
            return
        run = int(self.run_of[int(self.chance.choice(behind))])
        behind = behind[self.run_of[behind] == run]
        self.end(run, day, interrupted=True)
        accuse_behind_leaf(self.chance, self.columns, day, run, behind)

    def truth(self) -> SimulatedFleet:
        """The record, and what only the simulator knows."""
        wish, places = self.wish, self.places
        runs, stops, accusations, outages, culprits = self.columns.arrays(wish.days, SINCE_NS)
        leaves = tuple(f"leaf{leaf:03d}" for leaf in places.leaf.tolist())
        record = FleetRecord(
            since_ns=SINCE_NS,
            until_ns=SINCE_NS + round(wish.days * 86_400e9),
            nodes=self.names,
            generation=(None,) * len(self.names),
            rack=places.rack,
            leaf_switch=leaves,
            runs=runs,
            interruptions=stops,
            accusations=accusations,
            outages=outages,
            gpus_per_node=8,
            batch=places.batch,
            cage=places.cage,
            slot=places.slot,
            role=tuple("front_end" if special else None for special in places.special.tolist()),
        )
        return SimulatedFleet(
            record,
            self.history.lemons,
            frozenset(f"leaf{leaf:03d}" for leaf in self.bad_leaves.tolist()),
            tuple(None if node is None else self.names[node] for node in culprits),
            faults=tuple(self.history.faults),
            moves=tuple(self.history.moves),
            stays=tuple(self.history.stays),
            renamed=tuple(self.history.renamed),
            special=frozenset(
                name for name, special in zip(self.names, places.special, strict=True) if special
            ),
        )
