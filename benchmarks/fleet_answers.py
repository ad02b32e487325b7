"""The fleet over a year of 2,048 nodes: seconds until a whole page or answer is there.

    python -m benchmarks.fleet_answers [--sqlite FILE] [--incidents 3000] [--times 3]

Fills an empty PostgreSQL database of its own (``TRIAGE_TEST_POSTGRES``, dropped afterwards), or
with ``--sqlite`` a new file, with the year of ``fleet_year``; then asks a service in this process
for each page and each route. Every path gets a service of its own, so that ``first`` is cold:
nothing was worked out before. ``busy`` is what our process worked of it, without the database
where that is another. To hold: the overview and the report of the year within 2 s. ``/metrics``
is asked while the gauges of the fleet are worked out beside it: it must not wait for them.
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
from triage.domain.wire import format_iso_utc
from triage.server.context import open_context
from triage.settings import load_settings

_LIMIT_S: Final = 2.0


def _paths(until: datetime) -> dict[str, tuple[str, ...]]:
    """By kind: first what has to hold, then the other pages; parts, plans, lists, gauges."""
    end = quote(format_iso_utc(until) or "")
    year = f"since={quote(format_iso_utc(until - timedelta(days=365)) or '')}&until={end}"
    return {
        "page": (
            "/fleet?days=366", "/fleet", "/fleet/nodes", "/fleet/nodes?standing=lemon",
            "/fleet/plan?days=366&gpus=131072", "/fleet/checks", "/fleet/checks?state=passing",
        ),
        "route": (
            f"/v1/fleet?{year}", f"/v1/fleet?until={end}",
            f"/v1/fleet/projection?{year}&gpus=131072", f"/v1/fleet/checkpoint?{year}",
            f"/v1/fleet/spares?{year}", f"/v1/fleet/nodes?until={end}",
            "/v1/fleet/runs?limit=500", "/metrics",
        ),
    }  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Print both tables; 1 where the overview or the report takes longer than it may."""
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
    with a_database(options.sqlite) as database:
        number = fill(database, year)
        print(f"{machine()}, {database.engine.dialect.name}, {number:,} rows")
        url = database.engine.url.render_as_string(hide_password=False)
        for kind, asked in _paths(midnight).items():
            rows += [{"kind": kind, **_measured(url, path, options.times)} for path in asked]
    held = True
    for kind in _paths(midnight):
        of_kind = [row for row in rows if row["kind"] == kind]
        print(_table(kind, of_kind))
        held &= float(of_kind[0]["first_s"]) <= _LIMIT_S
    write_json(options.json, "fleet_answers", rows, num_rows=number)
    return int(not held)


def _measured(url: str, path: str, times: int) -> dict[str, float | str]:
    """One path, asked so many times of a service that has just started."""
    found, busy = [], []
    with tempfile.TemporaryDirectory() as folder:
        ctx = open_context(
            load_settings(data_dir=Path(folder), database_url=url, requests_per_minute=10**6)
        )
        with serving(ctx) as port:
            for _ in range(times):
                worked = time.process_time()
                found.append(get(port, path))
                busy.append(time.process_time() - worked)
        ctx.close()
    assert {one.status for one in found} == {200}, path
    seconds = [one.ms / 1e3 for one in found]
    return {
        "path": path.partition("?")[0] + (" (year)" if "since=" in path else "")
        if path.startswith("/v1") else path,
        "first_s": seconds[0], "median_s": statistics.median(seconds), "busy_s": busy[0],
        "kb": len(found[0].body) / 1e3,
    }  # fmt: skip


def _table(kind: str, rows: Sequence[dict[str, float | str]]) -> str:
    """Seconds and size of each path, as Markdown."""
    keys = ("first_s", "median_s", "busy_s")
    shown = [
        [str(row["path"]), *(f"{row[key]:.2f}" for key in keys), f"{float(row['kb']):.0f}"]
        for row in rows
    ]
    return aligned([kind, "first s", "median s", "busy s", "kB"], shown)


if __name__ == "__main__":
    sys.exit(main())
