"""The fleet's routes over a year of 2,048 nodes: seconds until the whole answer is there.

    python -m benchmarks.fleet_routes [--sqlite FILE] [--incidents 3000] [--times 3]

Fills an empty PostgreSQL database of its own (``TRIAGE_TEST_POSTGRES``, dropped afterwards), or
with ``--sqlite`` a new file, with the year of ``fleet_year``; then asks a service in this process.
``first`` is cold. ``busy`` is what our process worked of it, without the database where that is
another. To hold: the report of the year within 2 s. ``/metrics`` is asked while the gauges of the
fleet are worked out beside it: it must not wait for them.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from urllib.parse import quote

import structlog

from benchmarks.fleet_year import fill
from benchmarks.fleet_year_rows import Year
from benchmarks.pages import get, serving
from benchmarks.service_rows import a_database
from benchmarks.table import aligned, machine, write_json
from triage.domain.report import iso_utc
from triage.services.context import open_context
from triage.settings import load_settings

__all__ = ["main"]

LIMIT_S: Final = 2.0


def paths(until: datetime) -> tuple[str, ...]:
    """The report of the year first; then its parts, the plans, the lists, the gauges."""
    end = quote(iso_utc(until) or "")
    year = f"since={quote(iso_utc(until - timedelta(days=365)) or '')}&until={end}"
    return (
        f"/v1/fleet?{year}", f"/v1/fleet?until={end}", f"/v1/fleet/causes?{year}",
        f"/v1/fleet/mtti?{year}", f"/v1/fleet/parts?until={end}",
        f"/v1/fleet/projection?{year}&gpus=131072", f"/v1/fleet/checkpoint?{year}",
        f"/v1/fleet/spares?{year}", f"/v1/fleet/nodes?until={end}",
        "/v1/fleet/runs?limit=500", "/metrics",
    )  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; 1 where the report takes longer than it may."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sqlite", type=Path, help="a new file, in place of PostgreSQL")
    parser.add_argument("--incidents", type=int, default=3000)
    parser.add_argument("--nodes", type=int, default=2048)
    parser.add_argument("--evidence", type=int, default=100, help="rows for each incident")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(argv)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("critical"))
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    year = Year(midnight, options.nodes, options.incidents, options.evidence)
    rows: list[dict[str, float | str]] = []
    with a_database(options.sqlite) as database, tempfile.TemporaryDirectory() as folder:
        number = fill(database, year)
        print(f"{machine()}, {database.engine.dialect.name}, {number:,} rows")
        url = database.engine.url.render_as_string(hide_password=False)
        ctx = open_context(
            load_settings(data_dir=Path(folder), database_url=url, requests_per_minute=10**6)
        )
        with serving(ctx) as port:
            rows += [measured(port, path, options.times) for path in paths(midnight)]
        ctx.close()
    keys = ("first_s", "median_s", "busy_s")
    shown = [
        [str(row["path"]), *(f"{row[key]:.2f}" for key in keys), f"{row['kb']:.0f}"]
        for row in rows
    ]  # fmt: skip
    print(aligned(["route", "first s", "median s", "busy s", "kB"], shown))
    write_json(options.json, "fleet_routes", rows, num_rows=number)
    return int(float(rows[0]["first_s"]) > LIMIT_S)


def measured(port: int, path: str, times: int) -> dict[str, float | str]:
    """One route, asked so many times."""
    found, busy = [], []
    for _ in range(times):
        worked = time.process_time()
        found.append(get(port, path))
        busy.append(time.process_time() - worked)
    assert {one.status for one in found} == {200}, path
    seconds = [one.ms / 1e3 for one in found]
    return {
        "path": path.partition("?")[0] + (" (year)" if "since=" in path else ""),
        "first_s": seconds[0], "median_s": statistics.median(seconds), "busy_s": busy[0],
        "kb": len(found[0].body) / 1e3,
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
