"""Spares foretold from one half of a record, judged by the other; counts by the next quarter.

    python -m benchmarks.spares [OUTAGES.csv=NODES ...] [--trials 60] [--json FILE]

A record of outages is a CSV with ``node``, ``from_day`` and ``to_day``; NODES is how many nodes
the fleet has. Beside such records stand planted fleets (128, 400 and 2,000 nodes; 180, 360 and
720 days): nodes that leave alone, with long repairs, in bursts, in batches, at a rate that
drifts, and all of it. For each method the share of the second half in which the spares of the
first sufficed, and how many there were for each that would have been enough; beside them the
method that lost least on held-out stretches of the first half. Status 1 where the
forecast covers less than 95 % on average where the rate did not rise, or where less than 90 %
of quarters lie within what the quarter before expects.
"""

import argparse
import csv
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.table import aligned, machine, write_json
from tests.support.planted_outages import KINDS, planted_outages
from triage.fleet.record.from_rows import record_from_frames
from triage.fleet.report.report import fleet_report
from triage.statistics.away.forecast import forecast_spares
from triage.statistics.away.steps import Away, cut_outages, cut_period
from triage.statistics.next_period import estimate_next_events

CONFIDENCE: Final = 0.99
SIZES: Final = ((128, 180.0), (400, 360.0), (2_000, 720.0), (400, 180.0), (2_000, 360.0))
# Where a real record is cut: the stretch after has the length of that before, or what is left.
CUTS: Final = (0.25, 0.33, 0.4, 0.5)


class Trial(NamedTuple):
    """One cut of one record, by one method."""

    record: str
    method: str
    covered: float
    spares: int
    needed: int
    rose: bool


def trials(name: str, outages: Away, num_nodes: int, cuts: Sequence[float]) -> Iterator[Trial]:
    """Every method's spares of the time before each cut, in the time after it."""
    for cut in cuts:
        middle, end = cut * outages.days, min(2 * cut, 1.0) * outages.days
        before = cut_period(outages, 0.0, middle)
        after = cut_period(outages, middle, end)
        found = forecast_spares(before, num_nodes, begun=before.start > 0)
        needed = after.quantile(CONFIDENCE)
        answers = {one.method: one.spares for one in found.methods}
        tried = [one for one in found.methods if one.loss is not None]
        if tried:
            answers["least held-out loss"] = min(tried, key=lambda one: one.loss or 0.0).spares
        if found.forecast.value is not None:
            answers["FORECAST"] = int(found.forecast.value)
        for method, spares in answers.items():
            rose = after.mean > before.mean
            yield Trial(name, method, after.covered(spares), spares, needed, rose)


def quarters(outages: Away, number: int) -> Iterator[tuple[int, int, float, float]]:
    """``(events, of the next quarter, low, high)``."""
    length = outages.days / number
    counts = [outages.start[(outages.start // length) == k] - k * length for k in range(number)]
    for one, following in pairwise(counts):
        said = estimate_next_events(one, length)
        yield len(one), len(following), said.low or 0.0, said.high or 0.0


def read(path: Path) -> Away:
    """A CSV of outages; those of one node that overlap are one."""
    by_node: dict[str, list[tuple[float, float]]] = {}
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            span = (float(row["from_day"]), float(row["to_day"]))
            by_node.setdefault(row["node"], []).append((span[0], max(span)))
    merged: list[list[float]] = []
    for spans in by_node.values():
        last = None
        for start, end in sorted(spans):
            if last is not None and start <= last[1]:
                last[1] = max(last[1], end)
            else:
                merged.append(last := [start, end])
    columns = np.array(merged, np.float64)
    return cut_outages(columns[:, 0], columns[:, 1], float(columns[:, 1].max()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("records", nargs="*", metavar="OUTAGES.csv=NODES")
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    rows: list[Trial] = []
    within: dict[str, list[bool]] = {}
    for text in options.records:
        name, _, nodes = text.rpartition("=")
        outages = read(Path(name))
        show(Path(name).stem, outages, int(nodes))
        rows += trials(Path(name).stem, outages, int(nodes), CUTS)
        number = max(2, round(outages.days / 91))
        within[Path(name).stem] = [a <= n <= b for _, n, a, b in quarters(outages, number)]
    for kind in KINDS:
        for trial in range(options.trials):
            nodes, days = SIZES[trial % len(SIZES)]
            outages = planted_outages(kind, trial, num_nodes=nodes, days=days)
            rows += trials(kind, outages, nodes, (0.5,))
            held = [a <= n <= b for _, n, a, b in quarters(outages, max(2, round(days / 91)))]
            within.setdefault(kind, []).extend(held)
    return tell(rows, within, options)


def show(name: str, outages: Away, num_nodes: int) -> None:
    """The record's own answer."""
    found = forecast_spares(outages, num_nodes)
    said = found.forecast
    print(
        f"{name}: {len(outages)} outages in {outages.days:.0f} days, {found.mean_away:.1f} away on"
        f" average (variance {outages.variance:.1f}); in sample {found.in_sample} spares cover"
        f" {outages.covered(found.in_sample):.1%}; Poisson"
        f" {found.methods[0].spares} cover {outages.covered(found.methods[0].spares):.1%};"
        f" forecast {said.value} ({said.low} to {said.high}), by {found.method}"
    )


def speed(num_nodes: int) -> tuple[str, ...]:
    """Seconds from a table of outages to record and report: a year, racks of 32, by cause."""
    outages = planted_outages("all_of_it", 1, num_nodes=num_nodes, days=365.0)
    chance = np.random.default_rng(1)
    names = np.array([f"n{node}" for node in range(num_nodes)])
    rows = {
        "node": names[chance.integers(0, num_nodes, len(outages))],
        "from_day": outages.start,
        "to_day": outages.end,
        "cause": chance.choice(["GPU", "NIC", "cable", "memory", "power"], len(outages)),
    }
    racks = [f"r{node // 32}" for node in range(num_nodes)]
    inventory = pd.DataFrame({"node": names, "rack": racks})
    begun = time.perf_counter()
    record = record_from_frames(outages=pd.DataFrame(rows), inventory=inventory, nodes=num_nodes)
    read = time.perf_counter()
    fleet_report(record)
    done = time.perf_counter()
    return f"{num_nodes:,}", f"{len(outages):,}", f"{read - begun:.2f}", f"{done - read:.2f}"


def tell(rows: Sequence[Trial], within: dict[str, list[bool]], options: argparse.Namespace) -> int:
    """The tables, and 1 where a line that must hold does not."""
    table = []
    failed = False
    for record in dict.fromkeys(row.record for row in rows):
        for method in dict.fromkeys(row.method for row in rows):
            of_it = [row for row in rows if (row.record, row.method) == (record, method)]
            if not of_it:
                continue
            covered = np.array([row.covered for row in of_it])
            calm = [row.covered for row in of_it if not row.rose]
            ratio = np.array([row.spares / max(row.needed, 1) for row in of_it])
            failed |= method == "FORECAST" and bool(calm) and float(np.mean(calm)) < 0.95
            table.append(
                (
                    f"{record}: {method}",
                    f"{covered.mean():.1%}",
                    f"{(covered >= 0.95).mean():.0%}",
                    f"{np.mean(calm):.1%}" if calm else "-",
                    f"{np.mean(np.array(calm) >= 0.95):.0%}" if calm else "-",
                    f"{np.median(ratio):.2f}",
                    f"{np.quantile(ratio, 0.9):.2f}",
                )
            )
    head = ("99 % spares of one half", "cover", ">= 95 %", "not risen", ">= 95 %", "ratio", "90 %")
    print(f"\n{machine()}\n\n{aligned(head, table)}\n")
    held = [(name, f"{np.mean(one):.0%}", str(len(one))) for name, one in within.items() if one]
    print(aligned(("next quarter's count within the interval", "share", "pairs"), held))
    fleet_report(record_from_frames(outages=pd.DataFrame({"node": ["a"], "from_day": [1.0]})))
    timed = [speed(2_048), speed(20_000)]
    print(f"\n{aligned(('nodes, a year', 'outages', 'record s', 'report s'), timed)}")
    every = [one for some in within.values() for one in some]
    failed |= float(np.mean(every)) < 0.9
    write_json(options.json, "spares", [row._asdict() for row in rows])
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
