"""A receiver of webhooks is away for ten minutes: how soon after its return it has everything.

The service runs on a schedule that is shortened by ``--speed`` (its constants are divided in
the service's processes), so that ten minutes pass in a fraction; ``--speed 1`` takes them all.
Many incidents are reported at the beginning. Half of the outage the port refuses connections,
half of it the receiver answers 503.

A faster clock (libfaketime) does not do: CPython waits with ``sem_clockwait``, which that
library leaves alone, so threads that wait by the clock wake minutes late.
"""

import argparse
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.service_client import Client
from benchmarks.service_processes import ROOT, end_well, installed
from benchmarks.service_receiver import Receiver, identity_faults
from tests.support.waiting import eventually

_OUTAGE_S: Final = 600.0
_SERVED_WITHIN_S: Final = 60.0
# Python runs this before anything else.
_SHORTENED: Final = """
from triage.notify import deliver
deliver.PROBE_EVERY_S = deliver.PROBE_EVERY_S / {speed}
deliver.DELAYS_S = tuple(one / {speed} for one in deliver.DELAYS_S)
"""
# Real seconds: reading and answering take their time, however fast the clock goes.
_ANSWER_S: Final = 240.0


@dataclass(frozen=True, slots=True)
class Outage:
    """What was seen. Seconds are of the whole schedule: those that passed, times ``speed``."""

    num_incidents: int
    num_tries: int
    """Requests that were answered 503."""
    first_s: float
    """From the return until the first message arrived."""
    all_s: float
    """From the return until every incident's message had arrived."""
    faults: tuple[str, ...]


def suffer(folder: Path, num_incidents: int, speed: float) -> Outage:
    """One outage, with so many incidents in it."""
    settings = {"TRIAGE_QUIET_S": "1", "TRIAGE_LOG_LEVEL": "warning"}
    if speed != 1.0:
        shortened = folder / "shortened"
        shortened.mkdir()
        (shortened / "sitecustomize.py").write_text(_SHORTENED.format(speed=speed))
        settings["PYTHONPATH"] = f"{shortened}{os.pathsep}{ROOT}"
    receiver = Receiver()
    with installed("embedded", folder, settings) as made:
        client = Client(made.port)
        client.post("/v1/subscriptions", {"kind": "generic", "url": f"{receiver.url}/all"})
        began = time.monotonic()
        incidents = []
        for n in range(num_incidents):
            told = client.post("/v1/hooks/job-failed", {"job_id": f"away-{n}"})
            incidents.append(str(told["incident"]["id"]))
        for one in incidents:
            eventually(lambda i=one: _is_ready(client, i), _ANSWER_S, every_s=0.2)  # type: ignore[misc]
        half = _OUTAGE_S / speed / 2
        time.sleep(max(0.0, began + half - time.monotonic()))
        receiver.status = 503
        receiver.open()
        time.sleep(half)
        num_tries = len(receiver.kept())
        receiver.status = 200
        back = time.monotonic()
        faults = []
        try:
            eventually(lambda: _told_of(receiver, back) >= set(incidents), 5 * _SERVED_WITHIN_S)
        except TimeoutError:
            missing = set(incidents) - _told_of(receiver, back)
            faults.append(f"{len(missing)} messages never came")
        arrived = _told_of(receiver, back)
        moments = [one.at for one in receiver.kept() if one.at >= back]
        receiver.close()
    all_s = (max(moments) - back) * speed if moments else float("inf")
    first_s = (min(moments) - back) * speed if moments else float("inf")
    if all_s > _SERVED_WITHIN_S:
        faults.append(f"served {all_s:.0f} s after its return")
    faults += identity_faults(receiver.kept())
    return Outage(len(arrived), num_tries, first_s, all_s, tuple(faults))


def _is_ready(client: Client, incident: str) -> bool:
    return bool(client.get(f"/v1/incidents/{incident}")["state"] == "ready")


def _told_of(receiver: Receiver, since: float) -> set[str]:
    """Incidents of which a message arrived since then."""
    return {one.said["data"]["incident_id"] for one in receiver.kept() if one.at >= since}


def _main() -> int:
    """Suffer one outage; 1 when a message came late, twice in two forms, or not at all."""
    end_well()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--incidents", type=int, default=50)
    parser.add_argument("--speed", type=float, default=10.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="triage-outage-") as folder:
        one = suffer(Path(folder), options.incidents, options.speed)
    print(
        f"{one.num_incidents} incidents, away for {_OUTAGE_S:.0f} s of the schedule"
        f" (shortened by {options.speed:g}); answered 503 to {one.num_tries} tries;"
        " after its return the first"
        f" message after {one.first_s:.0f} s, the last after {one.all_s:.0f} s"
    )
    for fault in one.faults:
        print(f"  FAULT: {fault}")
    return 1 if one.faults else 0


if __name__ == "__main__":
    sys.exit(_main())
