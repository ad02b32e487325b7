"""How long report and standings of a year take in memory, of 2,048 and of 20,000 nodes.

The outages are those of a fleet like a real one: bursts, long repairs, repairs that do not take.
3,000 runs are each on all nodes that are in service, and each is interrupted, with three suspects.
Status 1 where both together take more than 1 s of CPU time of 2,048 nodes, or 5 s of 20,000; the
first of several times is left out, for it loads scipy.

    python -m benchmarks.fleet_sizes [--nodes 2048 20000] [--times 3]
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.table import aligned, machine, write_json
from simulator.fleet.fleet import simulated_outages
from simulator.fleet.wish import FleetWish
from triage.domain.category import Category
from triage.fleet.record.columns import (
    Accusation,
    Accusations,
    FleetRecord,
    Interruptions,
    Outages,
    Runs,
)
from triage.fleet.report.report import fleet_report
from triage.fleet.standings.standing import fleet_standings

_DAYS: Final = 365
_DAY_NS: Final = 86_400 * 10**9
_RUNS: Final = 3_000
_LIMITS_S: Final = {2_048: 1.0, 20_000: 5.0}
_CAUSES: Final = (Category.GPU, Category.GPU_HBM, Category.NIC, Category.NVLINK)


def main() -> int:
    """Make, time, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[*_LIMITS_S])
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows, slow = [], False
    for nodes in options.nodes:
        record = year_of(nodes)
        report = _least(partial(fleet_report, record), options.times)
        standing = _least(partial(fleet_standings, record), options.times)
        slow |= report + standing > _LIMITS_S.get(nodes, np.inf)
        counts = (len(record.outages.node), len(record.runs.node))
        seconds = (report, standing, report + standing)
        words = (*(f"{each:,}" for each in counts), *(f"{each:.2f}" for each in seconds))
        rows.append((f"{nodes:,}", *words))
    print(f"{machine()}\n")
    print(aligned(_HEAD, rows))
    write_json(options.json, "fleet_sizes", [dict(zip(_HEAD, row, strict=True)) for row in rows])
    return int(slow)


_HEAD: Final = ("nodes", "outages", "memberships", "report s", "standings s", "both s")


def _least(do: Callable[[], object], times: int) -> float:
    """Seconds of CPU time, the least of several after the first."""
    do()
    seconds = []
    for _ in range(times):
        began = time.process_time()
        do()
        seconds.append(time.process_time() - began)
    return min(seconds)


def year_of(nodes: int) -> FleetRecord:
    """A year in memory."""
    rows = simulated_outages(FleetWish.like_real(nodes, float(_DAYS), 1))
    out = np.array([row.node for row in rows], np.int32)
    start, end = (
        np.clip(np.array([getattr(row, name) for row in rows]), 0, _DAYS)
        for name in ("start", "end")
    )
    chance = np.random.default_rng(1)
    begins = np.arange(_RUNS) * _DAYS / _RUNS
    members = [np.setdiff1d(np.arange(nodes), out[(start <= day) & (end > day)]) for day in begins]
    num = np.array([len(some) for some in members], np.int32)
    ends_ns = ((begins + 0.95 * _DAYS / _RUNS) * _DAY_NS).astype(np.int64)
    accused = [
        Accusation(
            run, int(node), place, 0.9 / place, place == 1, _CAUSES[run % len(_CAUSES)], None
        )
        for run in range(_RUNS)
        for place, node in enumerate(chance.choice(members[run], 3, replace=False), start=1)
    ]
    return FleetRecord(
        since_ns=0,
        until_ns=_DAYS * _DAY_NS,
        nodes=tuple(f"n{node:05d}" for node in range(nodes)),
        generation=(None,) * nodes,
        rack=tuple(f"r{node // 12}" for node in range(nodes)),
        leaf_switch=tuple(f"leaf{node // 32}" for node in range(nodes)),
        runs=Runs(
            start_ns=(begins * _DAY_NS).astype(np.int64),
            end_ns=ends_ns,
            num_nodes=num,
            num_gpus=8 * num,
            interrupted=np.ones(_RUNS, np.bool_),
            planned=np.zeros(_RUNS, np.bool_),
            node_at=np.concatenate([[0], np.cumsum(num, dtype=np.int64)]),
            node=np.concatenate(members).astype(np.int32),
        ),
        interruptions=Interruptions(
            at_ns=ends_ns,
            cause=tuple(_CAUSES[run % len(_CAUSES)] for run in range(_RUNS)),
            resolved=np.zeros(_RUNS, np.bool_),
            planned=np.zeros(_RUNS, np.bool_),
            run=np.arange(_RUNS, dtype=np.int32),
            num_gpus=8 * num,
            incident_id=tuple(f"inc{run}" for run in range(_RUNS)),
        ),
        accusations=Accusations.of_rows(accused),
        outages=Outages(
            node=out,
            start_ns=(start * _DAY_NS).astype(np.int64),
            end_ns=(end * _DAY_NS).astype(np.int64),
            reason=tuple(row.reason for row in rows),
            cause=tuple(row.cause for row in rows),
            action=tuple(row.action for row in rows),
            planned=np.array([row.planned for row in rows], np.bool_),
        ),
        gpus_per_node=8,
        batch=tuple(f"b{4 * node // nodes}" for node in range(nodes)),
        cage=tuple(str(node // 4 % 3) for node in range(nodes)),
        slot=tuple(str(node % 4) for node in range(nodes)),
    )


if __name__ == "__main__":
    raise SystemExit(main())
