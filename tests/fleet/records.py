"""Small records of fleets, and one like that of the Llama 3 run, for tests of any floor."""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from simulator.campaign import leaves_for
from triage.domain.category import HARDWARE, Category
from triage.domain.llama3 import LLAMA3_GPUS, LLAMA3_HOURS, LLAMA3_NODES, LLAMA3_PLANNED
from triage.fleet.domain.cause import OutageCause
from triage.fleet.record.columns import (
    Accusations,
    FleetRecord,
    Interruptions,
    Outages,
    OutageStretch,
    Runs,
)

HOUR_NS = 3_600 * 10**9
SINCE_NS = int(datetime(2026, 3, 2, tzinfo=UTC).timestamp()) * 10**9


def ns(hours: float) -> int:
    """A time so many hours after the record's start."""
    return SINCE_NS + round(hours * HOUR_NS)


def runs(
    spans: Sequence[tuple[float, float]],
    *,
    num_gpus: int | Sequence[int] = 64,
    nodes: Sequence[Sequence[int]] | None = None,
    gpus_per_node: int = 8,
    interrupted: Sequence[int] = (),
    planned: Sequence[int] = (),
) -> Runs:
    """Runs of (start, end) in hours; ``nodes`` are indices for each run, none where None."""
    gpus = [num_gpus] * len(spans) if isinstance(num_gpus, int) else list(num_gpus)
    members = [[] for _ in spans] if nodes is None else [list(one) for one in nodes]
    at = np.concatenate([[0], np.cumsum([len(one) for one in members])])
    return Runs(
        start_ns=np.array([ns(start) for start, _ in spans], np.int64),
        end_ns=np.array([ns(end) for _, end in spans], np.int64),
        num_nodes=np.array([one // gpus_per_node for one in gpus], np.int32),
        num_gpus=np.array(gpus, np.int32),
        interrupted=np.isin(np.arange(len(spans)), interrupted),
        planned=np.isin(np.arange(len(spans)), planned),
        node_at=at.astype(np.int64),
        node=np.array([node for one in members for node in one], np.int32),
    )


def stops(
    at_h: Sequence[float],
    *,
    run: Sequence[int] | None = None,
    cause: Sequence[Category | None] | None = None,
    planned: Sequence[int] = (),
    resolved: Sequence[int] = (),
    num_gpus: int = 0,
) -> Interruptions:
    """Interruptions at hours of the record; without ``run`` none is known."""
    n = len(at_h)
    return Interruptions(
        at_ns=np.array([ns(one) for one in at_h], np.int64),
        cause=tuple([None] * n if cause is None else cause),
        resolved=np.isin(np.arange(n), resolved),
        planned=np.isin(np.arange(n), planned),
        run=np.array([-1] * n if run is None else run, np.int32),
        num_gpus=np.full(n, num_gpus, np.int32),
        incident_id=tuple(f"i{k}" for k in range(n)),
    )


def accusations(rows: Sequence[tuple[int, int]] = (), **given) -> Accusations:
    """(interruption, node) rows, each convicted and first."""
    n = len(rows)
    return Accusations(
        interruption=np.array([one for one, _ in rows], np.int32),
        node=np.array([node for _, node in rows], np.int32),
        position=np.ones(n, np.int32),
        score=np.ones(n, np.float64),
        convicted=np.array(given.get("convicted", [True] * n), np.bool_),
        category=tuple(given.get("category", [Category.GPU] * n)),
        part=(None,) * n,
    )


def outages(rows: Sequence[tuple[int, float, float]] = ()) -> Outages:
    """(node, from, to) in hours of the record."""
    return Outages.of_rows(
        [
            OutageStretch(
                node, ns(start), ns(end), "broken", OutageCause.UNKNOWN, None, planned=False
            )
            for node, start, end in rows
        ]
    )


def record(
    *,
    hours: float = 240.0,
    ran: Runs | None = None,
    stopped: Interruptions | None = None,
    blamed: Accusations | None = None,
    out: Outages | None = None,
    num_nodes: int = 8,
    generations: Sequence[str | None] | None = None,
    gpus_per_node: int | None = 8,
) -> FleetRecord:
    """A record of ``hours``; what is not given is empty."""
    return FleetRecord(
        since_ns=SINCE_NS,
        until_ns=ns(hours),
        nodes=tuple(f"n{k:05d}" for k in range(num_nodes)),
        generation=tuple([None] * num_nodes if generations is None else generations),
        rack=tuple(f"r{k // 16}" for k in range(num_nodes)),
        leaf_switch=tuple(f"leaf{k // 32}" for k in range(num_nodes)),
        runs=runs([]) if ran is None else ran,
        interruptions=stops([]) if stopped is None else stopped,
        accusations=accusations() if blamed is None else blamed,
        outages=outages() if out is None else out,
        gpus_per_node=gpus_per_node,
    )


def one_job(
    hours: float,
    stop_at: Sequence[float],
    *,
    num_gpus: int = 64,
    cause: Sequence[Category | None] | None = None,
    planned: Sequence[int] = (),
) -> FleetRecord:
    """One job that runs through: each stop ends a run, and the next begins at once."""
    at = sorted(stop_at)
    spans = list(zip([0.0, *at], [*at, hours], strict=True))
    num_nodes = num_gpus // 8
    return record(
        hours=hours,
        num_nodes=num_nodes,
        ran=runs(
            spans,
            num_gpus=num_gpus,
            nodes=[range(num_nodes)] * len(spans),
            interrupted=[k for k in range(len(at)) if k not in planned],
            planned=planned,
        ),
        stopped=stops(
            at, run=range(len(at)), cause=cause, planned=planned, num_gpus=num_gpus
        ),
    )  # fmt: skip


def example_record(seed: int = 0) -> FleetRecord:
    """54 days of one job on 16,384 GPUs: the 419 unexpected stops of the table, 47 planned.

    Stops fall at any time alike; each with a cause in hardware convicts a node, any alike.
    """
    chance = random.Random(f"llama3/{seed}")
    leaves = [Category(leaf) for leaf in leaves_for(419)]
    causes: list[Category | None] = [*leaves, *[None] * LLAMA3_PLANNED]
    chance.shuffle(causes)
    at = sorted(chance.uniform(0, LLAMA3_HOURS) for _ in causes)
    planned = [k for k, cause in enumerate(causes) if cause is None]
    guilty = [
        (k, chance.randrange(LLAMA3_NODES)) for k, cause in enumerate(causes) if cause in HARDWARE
    ]
    job = one_job(LLAMA3_HOURS, at, num_gpus=LLAMA3_GPUS, cause=causes, planned=planned)
    kinds = [cause for cause in causes if cause in HARDWARE]
    return replace(
        job,
        accusations=accusations(guilty, category=kinds),
        generation=tuple("h100" if k % 4 else "h100-b" for k in range(LLAMA3_NODES)),
        cluster="a",
    )
