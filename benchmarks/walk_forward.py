"""Calls walked forward over records of outages, against plain and decayed counts.

    python -m benchmarks.walk_forward [OUTAGES.csv=NODES ...] [--step 14] [--later-half]
        [--seeds 3] [--json FILE]

A record is a CSV with ``node``, ``from_day``, ``to_day`` and ``cause``; NODES is how many nodes
the fleet has. Beside them stand planted fleets like real ones. Every ``--step`` days the record
is cut, the standings are worked out from what was known by then, and what is called is held
against the next 56 days: the nodes of grade lemon, and the 1, 5, 10 and 20 of the highest
forecast. Beside them as many nodes by each count (56 and 112 days, all; half-lives of 7, 14, 28,
56 and 112 days), ties on average; the best of the eight is chosen in hindsight. Nodes that were
set aside are left out on both sides; the last rows put them back into the counts. Intervals
(95 %) are of nodes drawn again. With ``--later-half`` calls are made in the later half alone.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from benchmarks.table import aligned, machine, write_json
from simulator.fleet.fleet import simulate_fleet
from simulator.fleet.wish import FleetWish
from triage.domain.standing import Grade
from triage.fleet.record.columns import Flags, FleetRecord, Floats
from triage.fleet.record.from_rows import record_from_frames
from triage.fleet.standings.forecast import HORIZON_DAYS, count_later_faults
from triage.fleet.standings.standing import fleet_standings
from triage.fleet.standings.strikes import (
    FaultHistory,
    build_history,
    cut_history,
    sum_by_member,
)

START: Final = pd.Timestamp("2026-01-01", tz="UTC")
FIRST_DAYS: Final = 56.0
KS: Final = (1, 5, 10, 20)
DRAWS: Final = 400
MOST_RATIO: Final = 1000.0
# Half-lives and windows of the counts that calls are held against; days.
WINDOWS: Final = (56.0, 112.0)
DECAYS: Final = (7.0, 14.0, 28.0, 56.0, 112.0)
COUNTS: Final = (
    *(f"count of {days:g} days" for days in WINDOWS),
    "count of all",
    *(f"decayed count, half-life {days:g} days" for days in DECAYS),
)


@dataclass
class Tally:
    """What nodes of one kind of call, and of each count at as many calls, came to.

    Rows of ``faults`` are ours and each count's, columns nodes: a fault of a called node times
    how much of it was called.
    """

    num_nodes: int
    calls: int = 0
    failed: int = 0
    faults: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.faults = np.zeros((1 + len(COUNTS), self.num_nodes))

    def add(
        self, named: Sequence[int], scores: Sequence[Floats], after: Floats, able: Flags
    ) -> None:
        """One look: the nodes named, and as many of each count."""
        if not named:
            return
        self.calls += len(named)
        self.failed += int(np.count_nonzero(after[list(named)]))
        self.faults[0, list(named)] += after[list(named)]
        for row, score in enumerate(scores, start=1):
            self.faults[row] += after * share_of_top(score, len(named), able)

    def row(self, record: str, kind: str, chance: np.random.Generator) -> tuple[str, ...]:
        """One row of the table."""
        if not self.calls:
            return (record, kind, "0", *["-"] * 5)
        sums = self.faults.sum(axis=1)
        best = 1 + int(np.argmax(sums[1:]))
        ratios = []
        for _ in range(DRAWS):
            drawn = chance.integers(self.num_nodes, size=self.num_nodes)
            again = self.faults[:, drawn].sum(axis=1)
            ratios.append(again[0] / max(float(again[best]), 1e-9))
        low, high = np.quantile(ratios, [0.025, 0.975])
        return (
            record, kind, str(self.calls), f"{sums[0] / self.calls:.3f}",
            f"{self.failed / self.calls:.0%}", COUNTS[best - 1], f"{sums[best] / self.calls:.3f}",
            f"{sums[0] / max(sums[best], 1e-9):.2f} ({low:.2f} to {upper(high)})",
        )  # fmt: skip


def count_scores(history: FaultHistory, day: float) -> list[Floats]:
    """The counts of :data:`COUNTS` at ``day``, each of shape (nodes,)."""
    known = cut_history(history, day)
    every = np.ones(len(known))
    windows = [(known.day > day - days).astype(np.float64) for days in WINDOWS]
    fading = [np.exp2(-(known.days - known.day) / half_life) for half_life in DECAYS]
    return [sum_by_member(known.node, kept, known.num_nodes) for kept in (*windows, every, *fading)]


def upper(high: float) -> str:
    """The upper end of a ratio; draws in which the count's nodes never failed have none."""
    return f"{high:.2f}" if high < MOST_RATIO else "no bound"


def share_of_top(score: Floats, num: int, able: Flags) -> Floats:
    """How much of each node is among the ``num`` of the highest score; ties share."""
    scores = np.where(able, score, -1.0)
    last = np.partition(scores, len(scores) - num)[len(scores) - num]
    share: Floats = (scores > last).astype(np.float64)
    level = scores == last
    share[level] = (num - share.sum()) / level.sum()
    return share


def main() -> int:
    """Walk, print. Status 1 where lemons of all records fail less often than by the best count."""
    options = arguments()
    print(f"{machine()}; a look every {options.step:g} days\n")
    chance, rows, began = np.random.default_rng(0), [], time.perf_counter()
    beside: list[Floats] = []
    for name, table, nodes in records(options):
        for kind, tally in walked(
            table, nodes, options.step, later_half=options.later_half
        ).items():
            rows.append(tally.row(name, kind, chance))
            if kind == "lemons" and tally.calls:
                sums = np.maximum(tally.faults.sum(axis=1), 0.5)
                beside.append(sums[0] / sums[1:])
    head = (
        "record", "called", "calls", "faults of a call", "that failed", "best count",
        "its faults", "ratio",
    )  # fmt: skip
    print(aligned(head, rows))
    print("\nLemons over all records (geometric mean), beside each count alone:\n")
    over = np.exp(np.log(np.array(beside)).mean(axis=0)) if beside else []
    print(
        aligned(
            ("count", "ratio"),
            [(name, f"{one:.2f}") for name, one in zip(COUNTS, over, strict=False)],
        )
    )
    print(f"\n{time.perf_counter() - began:.0f} s")
    write_json(options.json, "walk_forward", [dict(zip(head, row, strict=True)) for row in rows])
    ratios = [float(row[-1].split()[0]) for row in rows if row[1] == "lemons" and row[-1] != "-"]
    return 0 if ratios and np.exp(np.log(ratios).mean()) >= 1.0 else 1


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("records", nargs="*", metavar="OUTAGES.csv=NODES")
    parser.add_argument("--step", type=float, default=14.0)
    parser.add_argument("--later-half", action="store_true", help="call in the later half alone")
    parser.add_argument("--seeds", type=int, default=3, help="planted fleets")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the numbers as JSON")
    return parser.parse_args()


def records(options: argparse.Namespace) -> list[tuple[str, pd.DataFrame, int]]:
    """(name, outages, nodes) of each record."""
    found = []
    for text in options.records:
        path, _, nodes = text.rpartition("=")
        found.append((Path(path).stem, pd.read_csv(path), int(nodes)))
    for seed in range(options.seeds):
        record = simulate_fleet(FleetWish.like_real(seed=seed)).record
        away = record.outages
        table = pd.DataFrame(
            {
                "node": [record.nodes[one] for one in away.node.tolist()],
                "from_day": (away.start_ns - record.since_ns) / 86_400e9,
                "to_day": (away.end_ns - record.since_ns) / 86_400e9,
                "cause": [str(one) for one in away.cause],
            }
        )[~away.planned]
        found.append((f"planted {seed}", table, len(record.nodes)))
    return found


def walked(
    table: pd.DataFrame, nodes: int, step: float, *, later_half: bool = False
) -> dict[str, Tally]:
    """What each kind of call came to over one record."""
    whole = cut(table, nodes, float(table["to_day"].max()))
    history = build_history(whole)
    kinds = ("lemons", *(f"highest {k}" for k in KS), "lemons, counts of all nodes")
    tallies = {kind: Tally(len(whole.nodes)) for kind in kinds}
    first = max(FIRST_DAYS, history.days / 2) if later_half else FIRST_DAYS
    for day in np.arange(first, history.days - HORIZON_DAYS + 1e-9, step).tolist():
        record = cut(table, nodes, day)
        place = {name: number for number, name in enumerate(whole.nodes)}
        found = fleet_standings(record)
        after, scores = count_later_faults(history, day), count_scores(history, day)
        able = np.ones(len(whole.nodes), dtype=bool)
        able[[place[one.node] for one in found.nodes if one.special]] = False
        lemons = [place[one.node] for one in found.nodes if one.grade is Grade.LEMON]
        tallies["lemons"].add(lemons, scores, after, able)
        tallies[kinds[-1]].add(lemons, scores, after, np.ones(len(able), dtype=bool))
        order = sorted((one for one in found.nodes if one.forecast is not None),
                       key=lambda one: -(one.forecast or 0.0))  # fmt: skip
        for k in KS:
            named = [place[one.node] for one in order[:k]]
            tallies[f"highest {k}"].add(named, scores, after, able)
    return tallies


def cut(table: pd.DataFrame, nodes: int, day: float) -> FleetRecord:
    """The record as it was known at ``day``."""
    names = sorted(set(table["node"]))
    names += [f"never-failed-{one}" for one in range(nodes - len(names))]
    known = table[table["from_day"] <= day]
    begins, ends = known["from_day"].clip(lower=0), known["to_day"]
    out = pd.DataFrame(
        {
            "node": known["node"],
            "from_at": START + pd.to_timedelta(begins, unit="D"),
            "to_at": (START + pd.to_timedelta(ends, unit="D")).where(ends <= day),
            "cause": known["cause"],
            "detail": known.get("detail"),
        }
    )
    until = START + pd.Timedelta(days=day)
    return record_from_frames(outages=out, nodes=names, since=START, until=until)


if __name__ == "__main__":
    sys.exit(main())
