"""Every hostile input through HTTP: uploaded to a real service, alone and beside a good job.

    python benchmarks/hostile_http.py --threads 2 [--every 10] [--no-heavy]

Starts `triage serve` on embedded SQLite in a folder of its own, sends all inputs of the
hostile set as artifacts (without a kind; with kind, rank and node) and as members of bundles,
and prints one JSON object: counts, peaks of memory, the slowest request, and complaints.
Exit status 1 when there is a complaint.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.system.attacked import attacked  # noqa: E402
from tests.system.hostile_uploads import (  # noqa: E402
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
    given = options.parse_args()
    chosen = [one for one in cases() if not (given.no_heavy and one.heavy)][:: given.every]
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="triage-hostile-") as temporary:
        folder = given.keep or Path(temporary) / "service"
        folder.mkdir(parents=True, exist_ok=True)
        marker = Path(temporary) / "marker"
        with attacked(folder) as service:
            run = Run(service, marker, given.threads)
            for name, step in (
                ("alone", lambda: run.alone(chosen)),
                ("dumps beside", lambda: run.beside(neutral(chosen, log=False), good_dumps(), "d")),
                ("logs beside", lambda: run.beside(neutral(chosen, log=True), good_logs(), "l")),
            ):
                step()  # type: ignore[no-untyped-call]
                done = (
                    f"{time.monotonic() - started:.0f} s: {name}, {len(run.complaints)} complaints"
                )
                print(done, file=sys.stderr, flush=True)
            complaints = run.end()
            peaks = service.peaks
            result = {
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
                "complaints": complaints,
            }
    print(json.dumps(result, indent=1))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
