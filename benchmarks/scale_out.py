"""The same incidents through one API and one worker, and through several of both.

``python -m benchmarks.scale_out [--apis 2] [--workers 4] [--incidents 24] [--broker rabbitmq]``:
PostgreSQL, a broker, and an S3 store on loopback (moto) are shared by all processes. Whole
simulated incidents are sent from many senders, to each API in turn. Prints how long it took
until all was acknowledged and answered, and holds every answer against ``triage.analyze`` of
the same folder; ends with status 1 where one differs. Where processors are few more processes are
no faster; the answers are the same.
"""

import argparse
import io
import json
import logging
import os
import random
import sys
import tarfile
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import triage
from benchmarks.service_client import Client
from benchmarks.service_processes import Process, end_well, free_port, installed, servers
from benchmarks.service_processes import triage as command
from benchmarks.table import aligned
from simulator.incidents.whole import Wish, simulate_incident
from tests.support.waiting import eventually

BUCKET: Final = "incidents"
SENDERS: Final = 8
SCENARIOS: Final = ("nic-port", "gpu_hbm", "software_user", "host_oom", "nvlink", "storage")
PATIENCE_S: Final = 600.0
# What an answer is held against; the rest are names of files, which differ by their way here.
VERDICT: Final = ("kind", "category", "confidence", "action", "cordon")


@contextmanager
def object_store() -> Iterator[dict[str, str]]:
    """The settings of an S3 store on loopback that is gone afterwards."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    made = urllib.request.Request(f"{endpoint}/{BUCKET}", method="PUT")
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(made).close()
    try:
        yield {
            "TRIAGE_BLOB_URL": f"s3://{BUCKET}/triage",
            "TRIAGE_S3_ENDPOINT": endpoint,
            "TRIAGE_S3_ACCESS_KEY_ID": "testing",
            "TRIAGE_S3_SECRET_ACCESS_KEY": "testing",
        }
    finally:
        server.stop()


def write_incidents(folder: Path, number: int) -> list[Path]:
    """So many incident folders of 64 ranks."""
    made = []
    for seed in range(number):
        out = folder / f"incident-{seed}"
        scenario = SCENARIOS[seed % len(SCENARIOS)]
        simulate_incident(scenario, out, Wish(seed=seed, id=f"job-{seed}"))
        made.append(out)
    return made


def packed(incident: Path) -> bytes:
    """The folder as a tar."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        tar.add(incident, arcname=".")
    return made.getvalue()


def answers(
    broker: str, apis: int, workers: int, incidents: Sequence[Path], folder: Path
) -> tuple[float, float, list[dict[str, Any]]]:
    """Seconds until all were acknowledged, and until all had their answers; the reports."""
    bundles = [packed(one) for one in incidents]
    with ExitStack() as stack:
        settings = {
            **stack.enter_context(servers(broker)), **stack.enter_context(object_store()),
            "TRIAGE_QUIET_S": "2", "TRIAGE_LOG_LEVEL": "warning",
        }  # fmt: skip
        made = stack.enter_context(installed(broker, folder, settings))
        ports = [made.port]
        for number in range(1, apis):
            ports.append(free_port())
            serve = command("serve", "--port", str(ports[-1]), "--no-worker", "--open")
            stack.enter_context(running(f"api-{number}", serve, made.env, folder))
        for number in range(1, workers):
            work = command("worker", "--concurrency", "1")
            stack.enter_context(running(f"worker-{number}", work, made.env, folder))
        clients = [Client(port) for port in ports]
        for client in clients:
            eventually(partial(up, client), PATIENCE_S)
        began = time.monotonic()

        def send(number: int) -> str:
            client = clients[number % len(clients)]
            path = f"/v1/jobs/job-{number}/bundle"
            sent = client.send("POST", path, bundles[number], "application/x-tar")
            return str(sent.json()["incident_id"])

        with ThreadPoolExecutor(SENDERS) as pool:
            ids = list(pool.map(send, range(len(bundles))))
        acknowledged_s = time.monotonic() - began
        for one in ids:
            eventually(partial(ready, clients[0], one), PATIENCE_S)
        answered_s = time.monotonic() - began
        reports = [random.choice(clients).get(f"/v1/incidents/{one}/report") for one in ids]
    return acknowledged_s, answered_s, reports


@contextmanager
def running(
    name: str, arguments: Sequence[str], env: Mapping[str, str], folder: Path
) -> Iterator[None]:
    """One more process of the installation."""
    process = Process(name, arguments, env, folder / f"{name}.log")
    process.start()
    try:
        yield
    finally:
        process.end()


def up(client: Client) -> bool:
    """Whether it answers."""
    try:
        return client.send("GET", "/healthz").status == 200
    except OSError:
        return False


def ready(client: Client, incident_id: str) -> bool:
    """Whether its answer is final."""
    return bool(client.get(f"/v1/incidents/{incident_id}")["state"] in {"ready", "failed"})


def judged(report: Mapping[str, Any]) -> str:
    """What an answer is held against."""
    verdict = {key: report["verdict"][key] for key in VERDICT}
    suspects = [(one["node"], one["ranks"], one["category"]) for one in report["suspects"]]
    return json.dumps([verdict, suspects])


def main() -> int:
    """As the command line says; 1 where an answer differs."""
    parser = argparse.ArgumentParser(description="One of each, and several of each.")
    parser.add_argument("--apis", type=int, default=2)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--incidents", type=int, default=24)
    parser.add_argument("--broker", choices=("redis", "rabbitmq"), default="rabbitmq")
    options = parser.parse_args()
    end_well()
    rows, wrong = [], 0
    with tempfile.TemporaryDirectory(prefix="triage-scale-out-") as name:
        folder = Path(name)
        incidents = write_incidents(folder, options.incidents)
        truth = [judged(triage.analyze(one).to_dict()) for one in incidents]
        for apis, workers in ((1, 1), (options.apis, options.workers)):
            place = folder / f"{apis}-{workers}"
            acked_s, all_s, reports = answers(options.broker, apis, workers, incidents, place)
            same = sum(judged(one) == two for one, two in zip(reports, truth, strict=True))
            wrong += len(truth) - same
            times = f"{acked_s:.1f} s", f"{all_s:.1f} s"
            rows.append((f"{apis} API, {workers} workers", *times, f"{same} of {len(truth)}"))
    head = (f"{len(os.sched_getaffinity(0))} processors", "acknowledged", "answered", "as analyze")
    print(aligned(head, rows))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
