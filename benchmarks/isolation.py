"""Bad nodes by tests of groups: rounds of the test plan, of bisection and of random groups.

Nodes are drawn to be bad, and tests of groups fail as they would: each bad node of a group is
caught with the recall, and a test lies with the rate of false alarms. The plan and the random
groups know both rates, think half a bad node is expected, and stop by the same rule: all bad
nodes named with 95 %, all others good with 95 %. Bisection tests both halves of what failed at
the same time; where tests err, a node is bad after two failures and a set is good after three
passes. ``first`` is the round after which the first bad node is named.

    python -m benchmarks.isolation [--nodes 64 2048] [--bad 1 2] [--recall 0.7] [--trials 100]
"""

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import mean

import numpy as np

from benchmarks.table import aligned, machine, write_json
from triage.domain.arrays import F64, I64
from triage.fleet.isolation.grouping import NodesSeen, groups_of_round
from triage.fleet.isolation.options import IsolationOptions
from triage.fleet.isolation.posterior import GroupTest, posterior_of

__all__ = ["WAYS", "Case", "Search", "main", "search"]

MOST_ROUNDS = 30
PASSES_OF_GOOD = 3
FAILURES_OF_BAD = 2
OUTCOMES = ("right", "wrong", "undecided")


@dataclass(frozen=True, slots=True)
class Case:
    """Nodes, how many of them are bad, and what a test can do."""

    nodes: int
    bad: int
    recall: float
    false_alarm: float


@dataclass(frozen=True, slots=True)
class Search:
    """One search: its rounds, tests and tests times nodes, and whether it named the bad nodes."""

    rounds: int
    first: int | None
    tests: int
    node_tests: int
    outcome: str


class Bench:
    """Nodes of which some are bad, and the tests that were run on them."""

    def __init__(self, case: Case, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.case = case
        self.is_bad = np.zeros(case.nodes, dtype=np.bool_)
        self.is_bad[self.rng.choice(case.nodes, case.bad, replace=False)] = True
        self.tests = self.node_tests = 0

    def fails(self, members: I64) -> bool:
        """Run a test of these nodes."""
        self.tests += 1
        self.node_tests += len(members)
        caught = (1 - self.case.recall) ** int(self.is_bad[members].sum())
        return bool(self.rng.random() < 1 - (1 - self.case.false_alarm) * caught)

    def search(self, rounds: int, first: int | None, named: set[int] | None) -> Search:
        outcome = "undecided"
        if named is not None:
            outcome = "right" if named == set(np.flatnonzero(self.is_bad).tolist()) else "wrong"
        return Search(rounds, first, self.tests, self.node_tests, outcome)


Groups = Callable[[Bench, F64, float, NodesSeen, IsolationOptions], list[I64]]


def planned(
    _bench: Bench, bad: F64, nobody: float, seen: NodesSeen, options: IsolationOptions
) -> list[I64]:
    """The groups of the test plan."""
    return groups_of_round(bad, nobody, seen, options)


def drawn(
    bench: Bench, _bad: F64, _nobody: float, seen: NodesSeen, _options: IsolationOptions
) -> list[I64]:
    """Groups by chance, of the root of all nodes each."""
    order = bench.rng.permutation(np.flatnonzero(seen.available))
    return [np.sort(part) for part in np.array_split(order, math.isqrt(len(order)))]


def by_posterior(bench: Bench, groups: Groups) -> Search:
    """Rounds of these groups, until the posterior decides."""
    case = bench.case
    options = IsolationOptions(recall=case.recall, false_alarm=case.false_alarm)
    tests: list[GroupTest] = []
    tested = np.zeros(case.nodes, dtype=np.bool_)
    position = np.zeros(case.nodes, dtype=np.int64)
    first = None
    for number in range(MOST_ROUNDS):
        found = posterior_of(np.ones(case.nodes), tests, options)
        named = np.flatnonzero(found.bad >= options.certainty)
        first = number if first is None and len(named) else first
        if tests and found.others(named.tolist()) <= 1 - options.certainty:
            return bench.search(number, first, set(named.tolist()))
        available = np.ones(case.nodes, dtype=np.bool_)
        available[named] = False
        round_ = groups(
            bench, found.bad, found.nobody, NodesSeen(available, tested, position), options
        )
        if not round_:
            return bench.search(number, first, None)
        for members in round_:
            tests.append(GroupTest(members, bench.fails(members)))
            position[members] = np.arange(len(members))
            tested[members] = True
    return bench.search(MOST_ROUNDS, first, None)


def by_halves(bench: Bench) -> Search:
    """Bisection: both halves of each set that failed, side by side."""
    errs = bench.case.recall < 1 or bench.case.false_alarm > 0
    passes, failures = (PASSES_OF_GOOD, FAILURES_OF_BAD) if errs else (1, 1)
    sets: list[tuple[I64, int, int]] = [(np.arange(bench.case.nodes), 0, 0)]
    named: set[int] = set()
    first = None
    for number in range(1, MOST_ROUNDS + 1):
        live: list[tuple[I64, int, int]] = []
        for members, passed, failed in sets:
            if len(members) == 1:
                live += single(bench, members, passed, failed, passes, failures, named)
                continue
            halves = np.array_split(members, 2)
            failing = [half for half in halves if bench.fails(half)]
            live += [(half, 0, 0) for half in failing]
            if not failing and passed + 1 < passes:
                live.append((members, passed + 1, 0))
        first = number if first is None and named else first
        sets = live
        if not sets:
            return bench.search(number, first, named)
    return bench.search(MOST_ROUNDS, first, None)


def single(
    bench: Bench, members: I64, passed: int, failed: int, passes: int, failures: int,
    named: set[int],
) -> Iterator[tuple[I64, int, int]]:  # fmt: skip
    """One node, beside a good partner: named, dropped, or tested once more."""
    if bench.fails(members):
        failed += 1
    else:
        passed += 1
    if failed >= failures:
        named.add(int(members[0]))
    elif passed < passes:
        yield members, passed, failed


WAYS: dict[str, Callable[[Bench], Search]] = {
    "plan": lambda bench: by_posterior(bench, planned),
    "bisection": by_halves,
    "random": lambda bench: by_posterior(bench, drawn),
}


def search(way: str, case: Case, seed: int) -> Search:
    """One search by ``plan``, ``bisection`` or ``random`` groups."""
    return WAYS[way](Bench(case, seed))


def row(way: str, case: Case, found: list[Search], seconds: float) -> list[str]:
    firsts = [one.first for one in found if one.first is not None]
    spread = 1.96 * float(np.std([one.rounds for one in found])) / math.sqrt(len(found))
    return [
        f"{case.nodes:,}", str(case.bad), f"{case.recall:g}", f"{case.false_alarm:g}", way,
        f"{mean(one.rounds for one in found):.1f} ± {spread:.1f}",
        f"{mean(firsts):.1f}" if firsts else "",
        f"{mean(one.tests for one in found):,.0f}",
        f"{mean(one.node_tests for one in found):,.0f}",
        *(f"{mean(one.outcome == word for one in found):.0%}" for word in OUTCOMES),
        str(len(found)), f"{seconds / len(found):.2f}",
    ]  # fmt: skip


def main() -> int:
    """Simulate, print. Status 1 where the plan takes more rounds than it promises."""
    options = arguments()
    rows, kept, late = [], [], False
    for nodes, bad, recall, false_alarm in product(
        options.nodes, options.bad, options.recall, options.false_alarm
    ):
        case = Case(nodes, bad, recall, false_alarm)
        for way in options.ways:
            began = time.perf_counter()
            found = [search(way, case, seed) for seed in range(options.trials)]
            rows.append(row(way, case, found, time.perf_counter() - began))
            kept += [{"way": way, **asdict(case), **asdict(one)} for one in found]
            late |= way == "plan" and mean(one.rounds for one in found) > promised(case)
    head = [
        "nodes", "bad", "recall", "lies", "way", "rounds", "first", "tests", "node-tests",
        "right", "wrong", "undecided", "searches", "s each",
    ]  # fmt: skip
    print(f"{machine()}\n\n{aligned(head, rows)}")
    write_json(options.json, "isolation", kept)
    return int(late)


def promised(case: Case) -> float:
    """Rounds that the plan may take on average; no promise for cases beyond those named."""
    if case.nodes > 2_048 or case.bad == 0 or case.bad > 2 or case.false_alarm > 0:
        return math.inf
    return 6.0 if case.recall < 1 else 2.0 * case.bad


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--nodes", type=int, nargs="+", default=[64, 512, 2_048])
    parser.add_argument("--bad", type=int, nargs="+", default=[0, 1, 2, 3])
    parser.add_argument("--recall", type=float, nargs="+", default=[1.0, 0.9, 0.7])
    parser.add_argument("--false-alarm", type=float, nargs="+", default=[0.0, 0.01])
    parser.add_argument("--ways", nargs="+", choices=sorted(WAYS), default=list(WAYS))
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
