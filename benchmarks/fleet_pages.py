"""The fleet's pages over a year of 2,048 nodes: seconds until the whole page is there.

    python -m benchmarks.fleet_pages [--sqlite FILE] [--incidents 3000] [--times 3]

Fills an empty PostgreSQL database of its own (``TRIAGE_TEST_POSTGRES``, dropped afterwards), or
with ``--sqlite`` a new file, with the year of ``fleet_year``; then asks a service in this process
for each page. ``first`` is cold: nothing was worked out before. ``busy`` is what our process worked
of it, without the database where that is another. To hold: the overview of the year within 2 s.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import structlog

from benchmarks.fleet_year import fill
from benchmarks.fleet_year_rows import Year
from benchmarks.pages import get, serving
from benchmarks.service_rows import a_database
from benchmarks.table import aligned, machine, write_json
from triage.services.context import open_context
from triage.settings import load_settings

LIMIT_S: Final = 2.0
OVERVIEW: Final = "/fleet?days=366"
PAGES: Final = (
    OVERVIEW, "/fleet", "/fleet/nodes", "/fleet/nodes?standing=lemon",
    "/fleet/plan?days=366&gpus=131072", "/fleet/checks", "/fleet/checks?state=passing",
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; 1 where the overview takes longer than it may."""
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
    rows = []
    with a_database(options.sqlite) as database, tempfile.TemporaryDirectory() as folder:
        number = fill(database, year)
        print(f"{machine()}, {database.engine.dialect.name}, {number:,} rows")
        url = database.engine.url.render_as_string(hide_password=False)
        ctx = open_context(load_settings(data_dir=Path(folder), database_url=url))
        with serving(ctx) as port:
            for path in PAGES:
                found, busy = [], []
                for _ in range(options.times):
                    worked = time.process_time()
                    found.append(get(port, path))
                    busy.append(time.process_time() - worked)
                assert {one.status for one in found} == {200}, path
                seconds = [one.ms / 1e3 for one in found]
                rows.append(
                    {"page": path, "first_s": seconds[0], "median_s": statistics.median(seconds),
                     "busy_s": busy[0], "kb": len(found[0].body) / 1e3}
                )  # fmt: skip
        ctx.close()
    keys = ("first_s", "median_s", "busy_s")
    shown = [
        [str(row["page"]), *(f"{row[key]:.2f}" for key in keys), f"{row['kb']:.0f}"] for row in rows
    ]
    print(aligned(["page", "first s", "median s", "busy s", "kB"], shown))
    write_json(options.json, "fleet_pages", rows, num_rows=number)
    overview = next(row for row in rows if row["page"] == OVERVIEW)
    return int(float(overview["first_s"]) > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
