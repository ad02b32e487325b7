"""The Llama 3 record through the service: 419 incidents, the runs around them, the fleet's report.

Each incident's files are uploaded and answered; then the scheduler's own record of the 420 runs
of 16,384 GPUs is imported, and the fleet is asked for its causes, its MTTI and a projection. The
files are of 16 or 64 ranks (what lay around the failure), the runs are of the whole job: the
report takes sizes from the scheduler, never from files. Shown beside the table it was drawn by.

    python -m benchmarks.fleet_campaign [--backend embedded|redis|rabbitmq] [--count 419]
"""

import argparse
import io
import shutil
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from benchmarks.service_client import Client
from benchmarks.service_processes import BACKENDS, end_well, installed, servers
from benchmarks.table import aligned, machine, write_json
from simulator.campaign import Campaign, draw
from simulator.request import EPOCH_NS
from tests.support.waiting import eventually
from triage.domain.wire import format_iso_utc

_DAYS: Final = 54
_NUM_NODES: Final = 2048
_GPUS_PER_NODE: Final = 8
_WITHIN_S: Final = 3600.0
_END: Final = datetime.fromtimestamp(EPOCH_NS / 1e9, UTC)


@dataclass(frozen=True, slots=True)
class Seen:
    """One incident that was sent: its true row, its leaf, and when its job stopped."""

    incident_id: str
    job_id: str
    row: str
    at: datetime


def main() -> int:
    """Send, wait, ask, print."""
    options = _arguments()
    end_well()
    began = time.perf_counter()
    settings = {"TRIAGE_QUIET_S": "1", "TRIAGE_PROVISIONAL_EVERY_S": "3600"}
    with tempfile.TemporaryDirectory() as scratch, servers(options.backend) as named:
        folder = Path(scratch)
        with installed(options.backend, folder / "service", {**settings, **named}) as made:
            client = Client(made.port)
            seen = list(_sent(client, folder / "incidents", options))
            eventually(lambda: _all_settled(client), _WITHIN_S, every_s=2.0)
            table = scheduler_csv(seen).encode()
            said = client.insist("/v1/fleet/import", table, "text/csv").json()
            fleet = client.get(f"/v1/fleet?{_period()}")
            planned = client.get(f"/v1/fleet/projection?{_period(gpus=131072)}")
    print(f"{machine()}; {options.backend}; {len(seen)} incidents in {_DAYS} days, "
          f"{time.perf_counter() - began:.0f} s in all\n")  # fmt: skip
    print(f"imported: {said['rows']} runs, {len(said['skipped'])} not understood\n")
    _print_causes(seen, fleet)
    _print_rates(fleet, planned)
    write_json(options.out, "fleet_campaign", [], summary={"fleet": fleet, "projection": planned})
    return 0


def _arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--backend", choices=BACKENDS, default="embedded")
    parser.add_argument("--count", type=int, default=419)
    parser.add_argument("--seed", type=int, default=8181)
    parser.add_argument("--ranks", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--out", type=Path, metavar="FILE", help="the answers as JSON")
    return parser.parse_args()


def _sent(client: Client, folder: Path, options: argparse.Namespace) -> Iterator[Seen]:
    """Each incident of the campaign as its job would send it: a hook, then a tar of its files."""
    drawn = draw(folder, Campaign(options.count, seed=options.seed, ranks=options.ranks))
    for number, (path, truth) in enumerate(drawn, 1):
        at = datetime.fromtimestamp(truth.fault_at_ns / 1e9, UTC)
        job_id = f"run-{number:04d}"
        hook = {"job_id": job_id, "failed_at": format_iso_utc(at)}
        opened = client.post("/v1/hooks/job-failed", hook)
        client.insist(opened["upload_url"].replace("/artifacts", "/bundle"), _packed(path))
        shutil.rmtree(path)
        yield Seen(opened["incident"]["id"], job_id, truth.llama3_row or "none", at)
        if number % 50 == 0:
            print(f"{number} sent", file=sys.stderr)


def _packed(folder: Path) -> bytes:
    """A tar of an incident folder."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        tar.add(folder, arcname=".")
    return held.getvalue()


def _all_settled(client: Client) -> bool:
    """Whether no incident waits for an answer any more."""
    return not any(
        client.get(f"/v1/incidents?state={state}&limit=1")["items"]
        for state in ("collecting", "analysing")
    )


def scheduler_csv(seen: Sequence[Seen]) -> str:
    """The runs as a scheduler exports them: one job after another on all nodes, 54 days long.

    The last one is cancelled at the end of the period: an end that was planned.
    """
    rows = ["job_id,started_at,ended_at,state,num_nodes,num_gpus"]
    start = _END - timedelta(days=_DAYS)
    gpus = _NUM_NODES * _GPUS_PER_NODE
    for one in sorted(seen, key=lambda one: one.at):
        rows.append(
            f"{one.job_id},{format_iso_utc(start)},{format_iso_utc(one.at)},FAILED,{_NUM_NODES},{gpus}"
        )
        start = one.at
    rows.append(
        f"run-last,{format_iso_utc(start)},{format_iso_utc(_END)},CANCELLED,{_NUM_NODES},{gpus}"
    )
    return "\n".join(rows) + "\n"


def _period(**more: object) -> str:
    """The 54 days as a query."""
    since = _END - timedelta(days=_DAYS)
    return urlencode({"since": format_iso_utc(since), "until": format_iso_utc(_END), **more})


def _print_causes(seen: Sequence[Seen], fleet: Mapping[str, Any]) -> None:
    """The cause table beside the true one."""
    true = Counter(one.row for one in seen)
    said = {row["row"]: row["count"] for row in fleet["mix"]["rows"]}
    rows = [(name, str(number), str(said.pop(name, 0))) for name, number in true.most_common()]
    rows += [(str(name), "0", str(number)) for name, number in said.items() if number]
    print(aligned(("Llama 3 row", "true", "said"), rows))


def _print_rates(fleet: Mapping[str, Any], planned: Mapping[str, Any]) -> None:
    """MTTI with its interval, and the projection."""
    for name, found in (("MTTI", fleet["mtti"]), ("at 131,072 GPUs", planned["mtti"])):
        print(f"{name}: {found['value']:.3f} h ({found['low']:.3f} to {found['high']:.3f})")


if __name__ == "__main__":
    raise SystemExit(main())
