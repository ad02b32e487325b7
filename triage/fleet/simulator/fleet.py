"""A simulated fleet: runs, interruptions and who was accused, with lemons that are known.

Every node fails as a Poisson process while a run is on it, a lemon so many times as often. The
rate of the whole fleet is that of the Llama 3 run; of its causes the hardware rows befall a
node, the others befall a run. Triage is a model with errors of its own, never the product.
"""

import heapq
from dataclasses import dataclass, field
from math import log
from typing import Final

import numpy as np
import numpy.typing as npt

from triage.domain.category import HARDWARE, LLAMA3_ROW, Category
from triage.domain.llama3 import LLAMA3_COUNTS, LLAMA3_HOURS, LLAMA3_NODES, LLAMA3_UNEXPECTED
from triage.fleet.record.columns import FleetRecord
from triage.fleet.simulator.columns import Columns

__all__ = ["LLAMA3_PER_NODE_DAY", "FleetWish", "SimulatedFleet", "lemon_factor", "simulate_fleet"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LLAMA3_PER_NODE_DAY: Final = LLAMA3_UNEXPECTED / (LLAMA3_NODES * LLAMA3_HOURS / 24)
"""Unexpected interruptions per node-day of the Llama 3 run, of all causes: 0.003789."""


def lemon_factor(before: float = 0.14, after: float = 0.04, share: float = 0.013) -> float:
    """How many times as often as other nodes a lemon fails, from what its removal changed.

    Meta saw the failure rate of jobs of 512 GPUs and more fall from 14 % to 4 % when about
    1.2 % of the nodes were taken out ("Revisiting Reliability in Large-Scale ML Research
    Clusters", HPCA 2025). A run fails with 1 - exp(-hazard), so its hazard fell by
    ln(1 - before) / ln(1 - after) = 3.69; with a share s of lemons that fail m times as often
    it was (1 - s) + s m times that of the rest. It takes every failure that went away for a
    lemon's, so it is an upper bound.
    """
    ratio = log(1 - before) / log(1 - after)
    return (ratio - (1 - share)) / share


@dataclass(frozen=True, slots=True)
class FleetWish:
    """What a fleet is to be like. Rates are per node-day in runs, of the fleet as a whole.

    ``wrong_first`` is how often triage puts an innocent node of the run first, ``tie`` how often
    it names the culprit beside others alike, ``blames_for_software`` how often it accuses a
    node for a cause that no node has. A bad leaf switch interrupts a run on all its nodes
    ``leaf_per_day`` times a day; half of the time triage takes nodes behind it for the cause.
    Healthy nodes fail alike, or with ``healthy_shape`` at rates of that Gamma shape. Of several
    ``generations`` (name, share of the nodes, how many times as often they fail) each is a block.
    """

    nodes: int = 2048
    days: float = 60.0
    seed: int = 0
    lemon_share: float = 0.013
    lemon_factor: float = field(default_factory=lemon_factor)
    rate: float = LLAMA3_PER_NODE_DAY
    flagship: float = 0.5
    leaf_size: int = 32
    bad_leaves: int = 1
    leaf_per_day: float = 0.1
    wrong_first: float = 0.05
    tie: float = 0.08
    blames_for_software: float = 0.05
    drained: float = 0.5
    drained_days: float = 0.5
    healthy_shape: float | None = None
    generations: tuple[tuple[str, float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class SimulatedFleet:
    """A record and the truth behind it; ``culprits`` has one node or None per interruption."""

    record: FleetRecord
    lemons: frozenset[str]
    bad_leaves: frozenset[str]
    culprits: tuple[str | None, ...]


# Nodes of a run beside the flagship, and how many of such runs there are to one another.
SIZES: Final = ((1, 30), (2, 16), (4, 14), (8, 12), (16, 10), (32, 8), (64, 6), (128, 3), (256, 1))
MEAN_DAYS: Final = 1.5
FLAGSHIP_DAYS: Final = 7.0
SCORE_FIRST: Final = 0.97
SCORE_WRONG: Final = 0.75
SCORE_SECOND: Final = 0.1
SINCE_NS: Final = 1_780_000_000 * 10**9  # some day: nothing depends on which
OF_HARDWARE: Final = {
    row: count
    for row, count in LLAMA3_COUNTS.items()
    if any(LLAMA3_ROW[one] == row for one in HARDWARE)
}
HARDWARE_SHARE: Final = sum(OF_HARDWARE.values()) / LLAMA3_UNEXPECTED
OTHERS: Final = (
    (Category.SOFTWARE_USER, 54),
    (Category.HOST_MAINTENANCE, 32),
    (Category.NCCL_TIMEOUT, 7),
    (Category.DEPENDENCY, 2),
)


def simulate_fleet(wish: FleetWish | None = None) -> SimulatedFleet:
    """The record of a fleet; the same wish gives the same record."""
    return Fleet(wish or FleetWish()).lived()


class Fleet:
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
        self.generation = generations_of(wish)
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
        self.ends: list[tuple[float, int, Ints]] = []

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

    def stop(self, at: float, run: int, nodes: Ints, cause: int) -> Ints:
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
            behind = nodes[self.leaf_rate[nodes] > 0]
            self.columns.add_stop(at, run, Category.NETWORK, None)
            if self.chance.random() < 0.5:
                named = self.chance.choice(behind, min(2, len(behind)), replace=False)
                self.columns.accuse_all(np.sort(named), 0.9 / len(named), Category.NETWORK)
            return nodes
        categories = [one for one, _ in OTHERS]
        counts = np.array([count for _, count in OTHERS], dtype=float)
        said = categories[int(self.chance.choice(len(OTHERS), p=counts / counts.sum()))]
        if self.chance.random() < self.wish.blames_for_software:
            self.columns.add_stop(at, run, Category.GPU, None)
            innocent = self.chance.choice(nodes, 1)
            self.columns.accuse_all(innocent, SCORE_WRONG, Category.GPU)
        else:
            self.columns.add_stop(at, run, said, None)
        return nodes

    def accuse(self, nodes: Ints, culprit: int, category: Category) -> int | None:
        """What triage says of a culprit: right, wrong, or a tie. The node it convicts."""
        others = nodes[nodes != culprit]
        part = f"GPU 0000:{0x1B + 0x10 * int(self.broken_part[culprit]):02x}:00"
        drawn = self.chance.random()
        if drawn < self.wish.wrong_first and len(others):
            innocent = int(self.chance.choice(others))
            self.columns.accuse(innocent, 1, SCORE_WRONG, category, convicted=True)
            if self.chance.random() < 0.5:
                self.columns.accuse(culprit, 2, SCORE_SECOND, category, part=part)
            return innocent
        if drawn < self.wish.wrong_first + self.wish.tie and len(others):
            size = min(int(self.chance.integers(1, 3)), len(others))
            tied = [culprit, *self.chance.choice(others, size, replace=False).tolist()]
            self.columns.accuse_all(np.sort(tied), 0.9 / len(tied), category)
            return None
        self.columns.accuse(culprit, 1, SCORE_FIRST, category, convicted=True, part=part)
        if len(others) and self.chance.random() < 0.15:
            self.columns.accuse(int(self.chance.choice(others)), 2, SCORE_SECOND, category)
        return culprit

    def drain(self, at: float, nodes: Ints, first: int | None) -> Ints:
        """The convicted node may be taken out for a while; it comes back as it was."""
        if first is None or self.chance.random() > self.wish.drained:
            return nodes
        back = at + self.wish.drained_days
        self.columns.add_outage(first, at, min(back, self.wish.days))
        heapq.heappush(self.ends, (back, len(self.columns.start) + 2, np.array([first])))
        left: Ints = nodes[nodes != first]
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


def node_names(count: int) -> list[str]:
    """Names that sort as their numbers do."""
    return [f"n{number:05d}" for number in range(count)]


def generations_of(wish: FleetWish) -> tuple[str | None, ...]:
    """The generation of each node: a block for each, the last one takes what is left."""
    if not wish.generations:
        return (None,) * wish.nodes
    names = [name for name, share, _ in wish.generations for _ in range(round(share * wish.nodes))]
    last = wish.generations[-1][0]
    return tuple([*names, *[last] * wish.nodes][: wish.nodes])
