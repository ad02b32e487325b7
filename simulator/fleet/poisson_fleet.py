"""A simulated fleet of nodes that fail as they did before: at a rate that nothing changes.

Every node fails as a Poisson process while a run is on it, a lemon so many times as often. The
rate of the whole fleet is that of the Llama 3 run; of its causes the hardware rows befall a
node, the others befall a run. Triage is a model with errors of its own, never the product.
"""

import heapq

import numpy as np
import numpy.typing as npt

from simulator.fleet.columns import Columns
from simulator.fleet.suspects import accuse, accuse_behind_leaf, accuse_of_software
from simulator.fleet.truth import SimulatedFleet
from simulator.fleet.wish import FleetWish
from simulator.fleet.workload import (
    FLAGSHIP_DAYS,
    HARDWARE_SHARE,
    MEAN_DAYS,
    OF_HARDWARE,
    SINCE_NS,
    SIZES,
    node_names,
)
from triage.domain.category import LLAMA3_ROW, Category
from triage.fleet.record.columns import FleetRecord

_Ints = npt.NDArray[np.int64]


class PoissonFleet:
    """The fleet while its days go by; times are days since its first."""

    def __init__(self, wish: FleetWish) -> None:
        self.wish = wish
        self.chance = np.random.default_rng([wish.seed, wish.nodes])
        self.columns = Columns()
        self.leaf = np.arange(wish.nodes) // wish.leaf_size
        num_lemons = max(round(wish.lemon_share * wish.nodes), 1) if wish.lemon_share else 0
        self.lemons = np.sort(self.chance.choice(wish.nodes, num_lemons, replace=False))
        num_leaves = int(self.leaf[-1]) + 1
        bad = min(wish.bad_leaves, num_leaves)
        self.bad_leaves = np.sort(self.chance.choice(num_leaves, bad, replace=False))
        self.generation = _generations_of(wish)
        times = {name: factor for name, _, factor in wish.generations}
        relative = np.array([times.get(one or "", 1.0) for one in self.generation])
        if wish.healthy_shape is not None:
            # Of its own, so that the same fleet lives on: only its rates differ.
            spread = np.random.default_rng([wish.seed, wish.nodes, 1])
            relative *= spread.gamma(wish.healthy_shape, 1 / wish.healthy_shape, wish.nodes)
        relative[self.lemons] *= wish.lemon_factor
        self.node_rate = wish.rate * HARDWARE_SHARE * relative / relative.mean()
        self.leaf_rate = np.where(
            np.isin(self.leaf, self.bad_leaves), wish.leaf_per_day / wish.leaf_size, 0.0
        )
        self.other_rate = wish.rate * (1 - HARDWARE_SHARE)
        self.free = np.ones(wish.nodes, dtype=bool)
        self.broken_part = self.chance.integers(0, 8, wish.nodes)
        # (when, a number that tells equal times apart, what it was: nodes that come free)
        self.ends: list[tuple[float, int, _Ints]] = []

    def lived(self) -> SimulatedFleet:
        """All days, then the record of them."""
        flagship = int(self.wish.flagship * self.wish.nodes)
        now = 0.0
        if flagship:
            self.start(now, flagship, FLAGSHIP_DAYS, again=True)
        while now < self.wish.days:
            self.fill(now)
            if not self.ends:
                break
            now = self.release(flagship)
        return self.truth()

    def fill(self, now: float) -> None:
        """Start runs until nearly nothing is free."""
        sizes = np.array([size for size, _ in SIZES])
        weights = np.array([weight for _, weight in SIZES], dtype=float)
        while (idle := int(np.count_nonzero(self.free))) > self.wish.nodes // 50:
            size = int(self.chance.choice(sizes, p=weights / weights.sum()))
            self.start(now, min(size, idle), MEAN_DAYS, again=False)

    def release(self, flagship: int) -> float:
        """The next end of a run or of a repair; the flagship starts again when it can."""
        now, number, nodes = heapq.heappop(self.ends)
        self.free[nodes] = True
        if number == 0 and flagship and now < self.wish.days:
            size = min(flagship, int(np.count_nonzero(self.free)))
            self.start(now, size, FLAGSHIP_DAYS, again=True)
        return now

    def start(self, now: float, size: int, mean_days: float, *, again: bool) -> None:
        """Start a run on free nodes; how it will end is drawn at once."""
        nodes = np.sort(self.chance.choice(np.flatnonzero(self.free), size, replace=False))
        self.free[nodes] = False
        planned = now + float(self.chance.exponential(mean_days))
        of_nodes, of_leaves = self.node_rate[nodes].sum(), self.leaf_rate[nodes].sum()
        hazard = np.array([of_nodes, of_leaves, self.other_rate * len(nodes)])
        stopped = now + float(self.chance.exponential(1.0 / hazard.sum()))
        end = min(planned, stopped)
        interrupted = stopped < planned and stopped < self.wish.days
        run = self.columns.add_run(now, min(end, self.wish.days), nodes, interrupted=interrupted)
        free = nodes
        if interrupted:
            cause = int(self.chance.choice(3, p=hazard / hazard.sum()))
            free = self.stop(stopped, run, nodes, cause)
        number = 0 if again else len(self.columns.start) + 1
        heapq.heappush(self.ends, (end, number, free))

    def stop(self, at: float, run: int, nodes: _Ints, cause: int) -> _Ints:
        """An interruption, and what triage says of it; the nodes that come free at once."""
        if cause == 0:
            weights = self.node_rate[nodes]
            culprit = int(self.chance.choice(nodes, p=weights / weights.sum()))
            rows = list(OF_HARDWARE)
            counts = np.array(list(OF_HARDWARE.values()), dtype=float)
            row = rows[int(self.chance.choice(len(rows), p=counts / counts.sum()))]
            category = next(one for one in Category if LLAMA3_ROW[one] == row)
            self.columns.add_stop(at, run, category, culprit)
            first = self.accuse(nodes, culprit, category)
            return self.drain(at, nodes, first)
        if cause == 1:
            accuse_behind_leaf(self.chance, self.columns, at, run, nodes[self.leaf_rate[nodes] > 0])
            return nodes
        accuse_of_software(self.wish, self.chance, self.columns, at, run, nodes)
        return nodes

    def accuse(self, nodes: _Ints, culprit: int, category: Category) -> int | None:
        """What triage says of a culprit: right, wrong, or a tie. The node it convicts."""
        part = f"GPU 0000:{0x1B + 0x10 * int(self.broken_part[culprit]):02x}:00"
        return accuse(self.wish, self.chance, self.columns, nodes, culprit, category, part)

    def drain(self, at: float, nodes: _Ints, first: int | None) -> _Ints:
        """The convicted node may be taken out for a while; it comes back as it was."""
        if first is None or self.chance.random() > self.wish.drained:
            return nodes
        back = at + self.wish.drained_days
        self.columns.add_outage(first, at, min(back, self.wish.days))
        heapq.heappush(self.ends, (back, len(self.columns.start) + 2, np.array([first])))
        left: _Ints = nodes[nodes != first]
        return left

    def truth(self) -> SimulatedFleet:
        """The record, and what only the simulator knows."""
        names = node_names(self.wish.nodes)
        leaves = [f"leaf{leaf:03d}" for leaf in self.leaf.tolist()]
        runs, stops, accusations, outages, culprits = self.columns.arrays(self.wish.days, SINCE_NS)
        record = FleetRecord(
            since_ns=SINCE_NS,
            until_ns=SINCE_NS + round(self.wish.days * 86_400e9),
            nodes=tuple(names),
            generation=self.generation,
            rack=(None,) * len(names),
            leaf_switch=tuple(leaves),
            runs=runs,
            interruptions=stops,
            accusations=accusations,
            outages=outages,
            gpus_per_node=8,
        )
        return SimulatedFleet(
            record,
            frozenset(names[node] for node in self.lemons.tolist()),
            frozenset(f"leaf{leaf:03d}" for leaf in self.bad_leaves.tolist()),
            tuple(None if node is None else names[node] for node in culprits),
        )


def _generations_of(wish: FleetWish) -> tuple[str | None, ...]:
    """The generation of each node: a block for each, the last one takes what is left."""
    if not wish.generations:
        return (None,) * wish.nodes
    names = [name for name, share, _ in wish.generations for _ in range(round(share * wish.nodes))]
    last = wish.generations[-1][0]
    return tuple([*names, *[last] * wish.nodes][: wish.nodes])
