"""Every hostile input through HTTP: uploaded to a real service, alone and beside a good job.

    python -m benchmarks.hostile_http --threads 2 [--every 10] [--no-heavy] [--part fleet]

Starts `triage serve` on embedded SQLite in a folder of its own, sends all inputs of the
hostile set as artifacts (without a kind; with kind, rank and node) and as members of bundles,
and hostile bodies to the routes that feed the fleet, while /healthz is asked ten times a
second. Prints one JSON object: counts, peaks of memory, the slowest request, what the heaviest
bodies of the fleet cost, and complaints. Exit status 1 when there is a complaint.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.hostile.fleet_bodies import fleet_bodies
from tests.system.attacked import attacked, peak_mib
from tests.system.hostile_fleet import FleetRun
from tests.system.hostile_uploads import (
    Run,
    cases,
    good_dumps,
    good_logs,
    neutral,
)


def main() -> int:
    """Send all of it; 1 when anything was not as promised."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--threads", type=int, default=2, help="uploads at once")
    options.add_argument("--every", type=int, default=1, help="take each n-th input only")
    options.add_argument("--no-heavy", action="store_true", help="leave out those of many MB")
    options.add_argument("--keep", type=Path, help="folder for the service's data and log")
    options.add_argument("--part", choices=("files", "fleet"), help="uploads, or the fleet, alone")
    given = options.parse_args()
    found: dict[str, object] = {}
    complaints: list[str] = []
    if given.part in (None, "files"):
        files, said = of_files(given)
        found["files"], complaints = files, complaints + said
    if given.part in (None, "fleet"):
        fleet, said = of_fleet(given)
        found["fleet"], complaints = fleet, complaints + said
    print(json.dumps({**found, "complaints": complaints}, indent=1))
    return 1 if complaints else 0


@contextmanager
def folders(keep: Path | None, part: str) -> Iterator[tuple[Path, Path]]:
    """A folder for the service, and a file beside it that a payload would write."""
    with tempfile.TemporaryDirectory(prefix="triage-hostile-") as temporary:
        folder = (keep or Path(temporary)) / part
        folder.mkdir(parents=True, exist_ok=True)
        yield folder, Path(temporary) / "marker"


def of_files(given: argparse.Namespace) -> tuple[dict[str, object], list[str]]:
    """Files alone, and beside good ones."""
    chosen = [one for one in cases() if not (given.no_heavy and one.heavy)][:: given.every]
    started = time.monotonic()
    with folders(given.keep, "files") as (folder, marker), attacked(folder) as service:
        run = Run(service, marker, given.threads)
        for name, step in (
            ("alone", lambda: run.alone(chosen)),
            ("dumps beside", lambda: run.beside(neutral(chosen, log=False), good_dumps(), "d")),
            ("logs beside", lambda: run.beside(neutral(chosen, log=True), good_logs(), "l")),
        ):
            step()  # type: ignore[no-untyped-call]
            tell(started, name, run.complaints)
        complaints = run.end()
        peaks = service.peaks
        return {
            "inputs": len(chosen),
            "seconds": round(time.monotonic() - started, 1),
            "statuses": dict(sorted(run.statuses.items())),
            "member_statuses": dict(sorted(run.members.items())),
            "states": dict(run.states),
            "verdicts_beside": run.verdicts,
            "verdicts_moved": len(run.moved),
            "slowest_s": round(run.slowest[0], 2),
            "slowest": run.slowest[1],
            "peak_mib": {
                "api": peaks.api,
                "worker": peaks.worker,
                "reader": peaks.readers,
                "worker_and_readers": peaks.both,
            },
            "readers_used": len(peaks.reader_pids),
        }, complaints


def of_fleet(given: argparse.Namespace) -> tuple[dict[str, object], list[str]]:
    """Bodies of checks, telemetry, imports and job ends."""
    bodies = [one for one in fleet_bodies() if not (given.no_heavy and one.heavy)][:: given.every]
    started = time.monotonic()
    with (
        folders(given.keep, "fleet") as (folder, _marker),
        attacked(folder, "--no-worker") as service,
    ):
        service.call("GET", "/readyz")
        run = FleetRun(service, given.threads, peak_mib(service.process.pid))
        run.light([one for one in bodies if not one.heavy])
        light_mib = service.peaks.api - run.base_mib
        tell(started, "light", run.complaints)
        run.doubled()
        run.heavy([one for one in bodies if one.heavy])
        tell(started, "heavy", run.complaints)
        keys = ("mib", "seconds", "healthz_s", "status", "name")
        return {
            "bodies": len(bodies),
            "seconds": round(time.monotonic() - started, 1),
            "statuses": dict(sorted(run.statuses.items())),
            "api_began_with_mib": run.base_mib,
            "light_ones_added_mib": light_mib,
            "slowest_healthz_s": max((one[2] for one in run.costs), default=None),
            "heaviest": [
                dict(zip(keys, one, strict=True)) for one in sorted(run.costs, reverse=True)[:12]
            ],
        }, [*run.complaints, *service.faults()]


def tell(started: float, name: str, complaints: list[str]) -> None:
    """Where it is, on stderr."""
    done = f"{time.monotonic() - started:.0f} s: {name}, {len(complaints)} complaints"
    print(done, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
