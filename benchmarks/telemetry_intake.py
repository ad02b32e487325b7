"""Telemetry on arrival: samples a second, memory, and how long a fleet's report reads it.

    python -m benchmarks.telemetry_intake [--sqlite FILE] [--samples 50000000] [--days 2000]

Four measurements, each in a process of its own, on an empty PostgreSQL database
(``TRIAGE_TEST_POSTGRES``, dropped afterwards) or, with ``--sqlite``, a new file:

* ``hours``: samples of all series of 2,048 nodes in order of time to cells by the hour, without
  a reader and without a database: what summarising alone costs.
* ``dense``: nodes' days scraped every 15 s, as CSV, from bytes to rows of the database, one
  upload for each node and day.
* ``year``: nodes' days as thin as a year of 1e9 samples is (one each 87 minutes for each
  series), one upload each: what the database costs. Extrapolated to the year.
* ``report``: 28 days of 2,048 nodes are there; the questions of a fleet's report are asked.

Bodies are made on the fly, and the time that takes is not counted. Rates are samples over
seconds as they passed, and over seconds of the processor in this process: the second holds on
a machine that does other things too, and with SQLite it is all there is.
"""

import argparse
import io
import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.service_rows import a_database, put
from benchmarks.table import aligned, machine, write_json
from models import Base
from triage.fleet.services.telemetry.ingest import TelemetryTarget, take_telemetry
from triage.fleet.services.telemetry.rollups import sum_node_telemetry
from triage.fleet.services.telemetry.summary import Summary
from triage.parsers.telemetry.metrics import Metric
from triage.parsers.telemetry.samples import BATCH, Samples, SeriesKey
from triage.queue.wakeups import NoWakeups
from triage.services.context import Context
from triage.services.quotas import Quotas
from triage.settings import load_settings
from triage.store.blobs.interface import open_blobs
from triage.store.database.group_commit import GroupCommit

NODES: Final = 2_048
GPUS: Final = 8
YEAR_SAMPLES: Final = 1_000_000_000
YEAR_DAYS: Final = 365
METRICS: Final = (
    Metric.GPU_TEMP_C, Metric.MEMORY_TEMP_C, Metric.POWER_W, Metric.SM_CLOCK_MHZ,
    Metric.MEMORY_CLOCK_MHZ, Metric.THROTTLE_REASONS, Metric.UTILISATION_PERCENT,
    Metric.ECC_SBE_TOTAL, Metric.ECC_DBE_TOTAL, Metric.REMAPPED_ROWS_UNCORRECTABLE,
)  # fmt: skip
DAY_S: Final = 86_400
DENSE_S: Final = 15
THIN_S: Final = YEAR_DAYS * DAY_S * NODES * GPUS * len(METRICS) // YEAR_SAMPLES
BEGIN: Final = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
REPORT_DAYS: Final = 28
LIMIT_S: Final = 0.3


@dataclass(frozen=True)
class Place:
    """Where the database is to be, and how much is to be measured."""

    sqlite: Path | None
    samples: int
    days: int


def batches(samples: int) -> Iterator[Samples]:
    """Scrapes of the whole fleet, one a minute, in batches that cut through them."""
    series = [
        SeriesKey(metric, f"n{node}", str(gpu))
        for node in range(NODES)
        for gpu in range(GPUS)
        for metric in METRICS
    ]
    begin = int((BEGIN - timedelta(days=2)).timestamp() * 1e9)
    made = 0
    value = np.random.default_rng(7).random(BATCH) * 60
    while made < samples:
        number = np.arange(made, made + BATCH)
        index = (number % len(series)).astype(np.int32)
        at_ns = begin + number // len(series) * 60_000_000_000
        yield Samples(series, index, at_ns, np.floor(value))
        made += BATCH


def hours(place: Place) -> dict[str, Any]:
    """Summarising alone."""
    until_us = int((BEGIN + timedelta(days=1)).timestamp() * 1e6)
    summary = Summary(0, until_us, lambda _: [])
    watch = Watch()
    cells = 0
    made = batches(place.samples)
    while (batch := next(made, None)) is not None:
        with watch:
            summary.add(batch)
            if summary.full:
                cells += sum(len(one[2]) for one in summary.take())
    with watch:
        cells += sum(len(one[2]) for one in summary.take())
    return told("hours", summary.kept, watch, f"{len(summary.numbers):,} series, {cells:,} cells")


def body(node: int, day: int, every_s: int) -> bytes:
    """A node's day as wide CSV."""
    header = ",".join(["at", "node", "gpu", *METRICS])
    first = BEGIN - timedelta(days=day + 1)
    lines = [header]
    for second in range(node % every_s, DAY_S, every_s):
        at = (first + timedelta(seconds=second)).isoformat()
        watts = 600 + second % 97
        lines += [
            f"{at},n{node},{gpu},{60 + gpu},{70 + gpu},{watts},1980,2619,0,98,{second // 3600},0,0"
            for gpu in range(GPUS)
        ]
    return "\n".join(lines).encode()


class Watch:
    """Seconds as they pass, and of the processor, of what it is held around."""

    def __init__(self) -> None:
        self.passed: list[float] = []
        self.cpu = 0.0

    def __enter__(self) -> None:
        self.begin = time.perf_counter(), time.process_time()

    def __exit__(self, *_: object) -> None:
        self.passed.append(time.perf_counter() - self.begin[0])
        self.cpu += time.process_time() - self.begin[1]


def context(database: Any) -> Context:  # noqa: ANN401
    """What the services need beside a database."""
    settings = load_settings()
    blobs = open_blobs(None, settings.data_dir, environ={}, min_free_bytes=0)
    quotas = Quotas(settings, database)
    return Context(
        settings,
        database,
        blobs,
        NoWakeups(),
        GroupCommit(database),
        quotas,
    )


def uploads(place: Place, every_s: int, num_days: int) -> tuple[int, Watch]:
    """Post nodes' days; how many samples, and what it took."""
    with a_database(place.sqlite) as database:
        ctx = context(database)
        target = TelemetryTarget(cluster="a")
        take_telemetry(ctx, target, io.BytesIO(body(9_999, 0, 3600)).read, None)  # compiled now
        samples, watch = 0, Watch()
        for number in range(num_days):
            data = body(number % NODES, number // NODES, every_s)
            with watch:
                found = take_telemetry(ctx, target, io.BytesIO(data).read, None)
            samples += found.samples
        ctx.commit.close()
    return samples, watch


def dense(place: Place) -> dict[str, Any]:
    """Days scraped every 15 s."""
    in_a_day = DAY_S // DENSE_S * GPUS * len(METRICS)
    num_days = max(2, place.samples // in_a_day + 1)
    samples, watch = uploads(place, DENSE_S, num_days)
    return told("dense", samples, watch, f"{num_days:,} uploads, {late(watch):,.0f} ms")


def year(place: Place) -> dict[str, Any]:
    """Days as thin as those of the year."""
    samples, watch = uploads(place, THIN_S, place.days)
    hours = watch.cpu / place.days * NODES * YEAR_DAYS / 3600
    text = (
        f"{place.days:,} uploads, {late(watch):,.1f} ms; the year's {NODES * YEAR_DAYS:,} take"
        f" {hours:,.1f} h of the processor"
    )
    return told("year", samples, watch, text)


def late(watch: Watch) -> float:
    """Milliseconds that 95 % of the uploads stay within."""
    return statistics.quantiles(watch.passed, n=20)[-1] * 1e3


def report(place: Place) -> dict[str, Any]:
    """The questions of a report over 28 days of all nodes."""
    with a_database(place.sqlite) as database:
        day = int(BEGIN.timestamp() // DAY_S)
        tables = Base.metadata.tables
        put(database, tables["cluster"], iter([{"id": 1, "name": "a"}]))
        put(database, tables["node"], (
            {"id": n + 1, "cluster_id": 1, "name": f"n{n}", "rack": f"r{n // 16}",
             "first_seen_at": BEGIN, "last_seen_at": BEGIN} for n in range(NODES)
        ))  # fmt: skip
        rows = [
            {"id": 1 + n * REPORT_DAYS + d, "cluster_id": 1, "node": f"n{n}", "day": day - d,
             "num_samples": 1334, "throttled_minutes": float(n % 7), "brake_minutes": 0.0,
             "gpu_temp_max_c": 71.0, "inlet_mean_c": 22.0 + n % 16 / 10, "ecc_growth": 0.0,
             "ecc_corrected_growth": 3.0, "remap_growth": 0.0, "nvlink_growth": 0.0,
             "ib_growth": 1.0}
            for n in range(NODES) for d in range(REPORT_DAYS)
        ]  # fmt: skip
        put(database, tables["telemetry_day"], iter(rows))
        cells = np.random.default_rng(7).bytes(8_000)
        put(database, tables["telemetry_pack"], ({"day_id": r["id"], "cells": cells} for r in rows))
        watch, asked = Watch(), []
        with watch:
            for _ in range(9):
                with database.reading() as session:
                    start = time.perf_counter()
                    sum_node_telemetry(session, BEGIN, cluster="a")
                    asked.append(time.perf_counter() - start)
    took = statistics.median(asked)
    slow = ["nodes"] if took > LIMIT_S else []
    return {**told("report", len(rows) * 1334, watch, f"nodes {took * 1e3:,.0f} ms"), "slow": slow}


def told(name: str, samples: int, watch: Watch, text: str) -> dict[str, Any]:
    """One row of the table."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    passed = sum(watch.passed)
    return {
        "name": name, "samples": samples, "seconds": passed, "cpu_s": watch.cpu, "mib": peak,
        "text": text,
    }  # fmt: skip


ALL: Final = (hours, dense, year, report)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 where a report's question takes longer than it may."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sqlite", type=Path, help="a new file for the database")
    parser.add_argument("--samples", type=int, default=50_000_000)
    parser.add_argument("--days", type=int, default=2_000, help="nodes' days of `year`")
    parser.add_argument("--only", nargs="*", default=[one.__name__ for one in ALL])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    rows = []
    for one in ALL:
        if one.__name__ not in given.only:
            continue
        path = given.sqlite.with_suffix(f".{one.__name__}.db") if given.sqlite else None
        place = Place(path, given.samples, given.days)
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=spawn) as pool:
            rows.append(pool.submit(one, place).result())
        print(f"{one.__name__}: {rows[-1]['text']}", file=sys.stderr)
    head = ["what", "samples", "s", "processor s", "samples/s", "/processor s", "MiB", "of it"]
    shown = [
        [row["name"], f"{row['samples']:,}", f"{row['seconds']:,.1f}", f"{row['cpu_s']:,.1f}",
         *(["", ""] if row["name"] == "report" else
           [f"{row['samples'] / row[by]:,.0f}" for by in ("seconds", "cpu_s")]),
         f"{row['mib']:,.0f}", row["text"]]
        for row in rows
    ]  # fmt: skip
    print(f"{machine()}, {'SQLite' if given.sqlite else 'PostgreSQL'}\n")
    print(aligned(head, shown))
    write_json(given.json, "telemetry_intake", rows)
    return int(any(row.get("slow") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
