"""Simulated fleets like real ones beside the figures that were published of real ones.

The figures are of 400 servers that train language models over 349 days (InfiniteHBD trace: 584
faults), and of the GPUs of Titan (SC'20) for batch and cage. Each is the mean over seeds, with the
range that nine of ten fleets are in. Beside it the same fleets if every repair took and nothing
came in bursts. Status 1 where a published figure is outside of the range.

    python -m benchmarks.fleet_like_real [--seeds 40] [--nodes 400] [--days 349]
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from math import nan
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.table import aligned, machine, write_json
from simulator.fleet.figures import figures_of
from simulator.fleet.fleet import simulate_fleet
from simulator.fleet.truth import FaultSource, SimulatedFleet
from simulator.fleet.wish import FaultModel, FleetWish
from triage.fleet.domain.cause import OutageCause
from triage.fleet.record.faults import faults_of

_PUBLISHED: Final = {
    "rate_per_1000": ("faults per 1,000 node-days", 4.18),
    "daily_dispersion": ("faults a day: variance over mean", 3.4),
    "most_in_a_day": ("most faults in a day", 20.0),
    "node_dispersion": ("faults of a node: variance over mean", 2.6),
    "failed_nodes": ("nodes that failed at all", 231 / 400),
    "repair_median_days": ("repair, median days", 0.85),
    "repair_mean_days": ("repair, mean days", 5.5),
    "repair_longest_days": ("repair, longest days", 131.0),
    "again_in_7": ("failed again within 7 days of the return", 0.33),
    "again_in_30": ("within 30 days", 0.45),
    "away_mean": ("nodes away at once, mean", 9.3),
    "away_dispersion": ("nodes away: variance over mean", 53.6 / 9.3),
    "unknown": ("causes unknown", 144 / 584),
    "failed_test": ("causes: failed stress test", 97 / 584),
    "lemon_times": ("a lemon fails as others, times", nan),
    "batch_times": ("GPU faults on their own, old batch over new", 14.7),
    "cage_times": ("the same, top cage over bottom", 2.4),
}
_BY_CAUSE: Final = {
    OutageCause.NIC: 0.48, OutageCause.CABLE: 0.42, OutageCause.FAILED_TEST: 0.42,
    OutageCause.POWER: 0.25, OutageCause.GPU: 0.22, OutageCause.COOLING: 0.15,
}  # fmt: skip
_EVEN: Final = FaultModel(again_times=0.0, burst_share=0.0, shortages=0.0, moved_share=0.0)
# Counts of single fleets are too small for a ratio: they are of all together.
_POOLED: Final = frozenset({"lemon_times", "batch_times", "cage_times"})


def main() -> int:
    """Simulate, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--nodes", type=int, default=400)
    parser.add_argument("--days", type=float, default=349.0)
    parser.add_argument("--out", type=Path, metavar="FILE", help="the numbers as JSON")
    options = parser.parse_args()
    print(f"{machine()}; {options.seeds} fleets of {options.nodes} nodes, {options.days:g} days\n")
    like, even = (
        [
            simulate_fleet(FleetWish.like_real(options.nodes, options.days, seed, faults=model))
            for seed in range(options.seeds)
        ]
        for model in (FaultModel(), _EVEN)
    )
    measured = [asdict(figures_of(fleet.record)) | _shares_of(fleet) for fleet in like]
    beside = [asdict(figures_of(fleet.record)) | _shares_of(fleet) for fleet in even]
    ratios = _ratios_of(like)
    rows, outside = [], []
    for name, (words, value) in _PUBLISHED.items():
        if name in _POOLED:
            rows.append((words, _shown(value), _shown(ratios[name]), "all together", ""))
            continue
        drawn = np.array([fleet[name] for fleet in measured])
        low, high = np.quantile(drawn, (0.05, 0.95))
        mean = float(np.mean([fleet[name] for fleet in beside]))
        rows.append(
            (words, _shown(value), _shown(float(drawn.mean())),
             f"{_shown(float(low))} to {_shown(float(high))}", _shown(mean))
        )  # fmt: skip
        outside += [words] if not low <= value <= high else []
    print(aligned(_HEAD, rows))
    print("\nFailed again within 7 days, by cause of the fault before:\n")
    again = _again_by_cause(like)
    print(aligned(
        ("cause", "published", "simulated", "returns"),
        [(str(cause), f"{value:.0%}", f"{again[cause][0]:.0%}", f"{again[cause][1]:,}")
         for cause, value in _BY_CAUSE.items()],
    ))  # fmt: skip
    if outside:
        print("\nOutside: " + ", ".join(outside))
    write_json(options.out, "fleet_like_real", measured)
    return int(bool(outside))


_HEAD: Final = ("figure", "published", "simulated", "nine of ten fleets", "if all repairs took")


def _shown(value: float) -> str:
    """Three digits, or two decimals."""
    if np.isnan(value):
        return "3.6 to 7.6"
    return f"{value:.3g}" if value >= 10 else f"{value:.2f}"


def _shares_of(fleet: SimulatedFleet) -> dict[str, float]:
    """How much of the faults is unknown, and a failed test."""
    causes = Counter(faults_of(fleet.record).cause)
    number = max(sum(causes.values()), 1)
    return {cause.value: causes[cause] / number for cause in
            (OutageCause.UNKNOWN, OutageCause.FAILED_TEST)}  # fmt: skip


def _ratios_of(fleets: Sequence[SimulatedFleet]) -> dict[str, float]:
    """Of faults that came on their own: lemons over others, and of the GPU by batch and cage."""
    own: Counter[tuple[str, str | None]] = Counter()
    nodes: Counter[tuple[str, str | None]] = Counter()
    for fleet in fleets:
        record = fleet.record
        kinds = {
            name: (
                ("lemon", str(name in fleet.lemons)),
                ("batch", record.batch[place]),
                ("cage", record.cage[place]),
            )
            for place, name in enumerate(record.nodes)
            if name not in fleet.special
        }
        for kind in kinds.values():
            nodes.update(kind)
        for fault in fleet.faults:
            if fault.source is FaultSource.OWN and fault.node in kinds:
                lemon, *place = kinds[fault.node]
                own.update([lemon, *(place if fault.cause is OutageCause.GPU else ())])

    def over(kind: str, high: str, low: str) -> float:
        rates = [own[kind, name] / max(nodes[kind, name], 1) for name in (high, low)]
        return rates[0] / rates[1] if rates[1] else nan

    return {
        "lemon_times": over("lemon", "True", "False"),
        "batch_times": over("batch", "old", "new"),
        "cage_times": over("cage", "top", "bottom"),
    }


def _again_by_cause(fleets: Sequence[SimulatedFleet]) -> dict[OutageCause, tuple[float, int]]:
    """The part of the returns after which the node failed within 7 days, and how many those are."""
    again: Counter[OutageCause] = Counter()
    returns: Counter[OutageCause] = Counter()
    for fleet in fleets:
        faults = faults_of(fleet.record)
        order = np.lexsort((faults.start_day, faults.node)).tolist()
        for row, follower in zip(order, [*order[1:], None], strict=True):
            end = faults.end_day[row]
            if not faults.back[row] or end > faults.days - 7:
                continue
            returns[faults.cause[row]] += 1
            if follower is not None and faults.node[follower] == faults.node[row]:
                again[faults.cause[row]] += int(faults.start_day[follower] - end <= 7)
    return {cause: (again[cause] / max(returns[cause], 1), returns[cause]) for cause in OutageCause}


if __name__ == "__main__":
    raise SystemExit(main())
