"""The whole path of the service: a job fails, 16 nodes send what they have, on-call is told.

On embedded SQLite, PostgreSQL with Redis, and PostgreSQL with RabbitMQ: the job-failed hook,
``triage collect`` on every node at once, provisional and final suspects, webhooks whose
signature the ``standardwebhooks`` package verifies, and a person's resolution. One node
writes its dumps only after a provisional answer is there, so that there always is one.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.service_client import Client
from benchmarks.service_processes import (
    BACKENDS,
    CALLBACK_SECRET,
    ROOT,
    Installation,
    end_well,
    installed,
    servers,
)
from benchmarks.service_receiver import Got, Receiver, identity_faults, verified
from simulator.incidents.whole import Wish, simulate_incident
from tests.support.waiting import eventually

NUM_NODES: Final = 16
_GPUS_PER_NODE: Final = 8
# Of the seeds, one whose dumps, kernel logs and job logs lie on every node.
_SEED: Final = 5
_SCENARIO: Final = "nic-port"
_EVENTS: Final = (
    "incident.provisional", "incident.ready", "incident.revised", "incident.resolved",
    "incident.failed",
)  # fmt: skip
_SETTINGS: Final = {
    "TRIAGE_PROVISIONAL_EVERY_S": "0.5",
    "TRIAGE_QUIET_S": "5",
    # All files come, however long a busy machine takes.
    "TRIAGE_COLLECT_WITHIN_S": "1200",
}
# Far more than it takes: a loaded machine is no fault of the service.
_WITHIN_S: Final = 400.0


@dataclass(frozen=True, slots=True)
class Walked:
    """What was seen on the way. Times are seconds; ``faults`` says what was not as promised."""

    backend: str
    num_files: int
    collected_s: float
    """From the hook until every node's collector had its 2xx."""
    provisional_s: float
    """From the hook until there was an answer."""
    final_s: float
    """From the last 2xx until the answer was final."""
    num_webhooks: int
    faults: tuple[str, ...]


class _Job:
    """A simulated incident, split over the nodes that its files came from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "incident"
        wish = Wish(ranks=NUM_NODES * _GPUS_PER_NODE, gpus_per_node=_GPUS_PER_NODE, seed=_SEED)
        self.truth = simulate_incident(_SCENARIO, self.folder, wish)
        self.facts: dict[str, Any] = json.loads((self.folder / "job.json").read_text())
        self.nodes: list[str] = self.facts["nodes"]
        self.job_id = str(self.facts["job_id"])
        self.num_files = 0
        self.places = {node: folder / "nodes" / node for node in self.nodes}
        for number, node in enumerate(self.nodes):
            self.split(number, node)

    def split(self, number: int, node: str) -> None:
        """The files of one node, as they lie on it."""
        place = self.places[node]
        (place / "fr").mkdir(parents=True)
        first = number * _GPUS_PER_NODE
        for rank in range(first, first + _GPUS_PER_NODE):
            for dump in self.folder.rglob(f"*_rank_{rank}"):
                shutil.copy(dump, place / "fr" / dump.name)
                self.num_files += 1
        for log in (self.folder / "nodes" / node).iterdir():
            if "_rank_" not in log.name or log.suffix:
                shutil.copy(log, place / log.name)
                self.num_files += 1

    def analysed(self) -> dict[str, Any]:
        """What ``triage analyze`` says of the whole folder."""
        command = [sys.executable, "-m", "triage.cli.main", "analyze", str(self.folder), "--format"]
        done = subprocess.run([*command, "json"], cwd=ROOT, capture_output=True, check=True)
        return dict(json.loads(done.stdout))


def walk(backend: str, folder: Path, settings: Mapping[str, str]) -> Walked:
    """The whole path on one backend, whose servers the settings name."""
    job = _Job(folder)
    tokens: dict[str, str] = {}

    def make_tokens(made: Installation) -> None:
        for scope in ("ingest", "read", "admin"):
            tokens[scope] = made.command("token", "create", "--scope", scope, "--name", scope)

    chosen = {**_SETTINGS, **settings}
    with (
        Receiver() as receiver,
        installed(
            backend, folder, chosen, open_access=False, concurrency=2, before=make_tokens
        ) as made,
    ):
        return _Walk(made, job, receiver, tokens, folder).go()


class _Walk:
    """One walk, step by step."""

    def __init__(
        self,
        made: Installation,
        job: _Job,
        receiver: Receiver,
        tokens: Mapping[str, str],
        folder: Path,
    ) -> None:
        self.made, self.job, self.receiver, self.folder = made, job, receiver, folder
        self.ingest, self.read, self.admin = (
            Client(made.port, tokens[scope]) for scope in ("ingest", "read", "admin")
        )
        self.token_file = folder / "token"
        self.token_file.write_text(tokens["ingest"])
        self.faults: list[str] = []

    def go(self) -> Walked:
        """All of it."""
        secret = self.subscribe()
        began = time.monotonic()
        incident = self.announce()
        last = self.job.nodes[-1]
        held_back = self.folder / "held-back"
        (self.job.places[last] / "fr").rename(held_back)
        collectors = {node: self.collect(node, late=node == last) for node in self.job.nodes}
        suspects = f"/v1/incidents/{incident}/suspects"
        first = eventually(lambda: self.answered(suspects), _WITHIN_S, every_s=0.25)
        provisional_s = time.monotonic() - began
        self.expect("the first answer is provisional", first["provisional"], True)
        held_back.rename(self.job.places[last] / "fr")
        for node, process in collectors.items():
            _, said = process.communicate(timeout=_WITHIN_S)
            self.expect(f"the collector of {node} ({said.decode()})", process.returncode, 0)
        collected = time.monotonic()
        final = eventually(lambda: self.final(suspects), _WITHIN_S)
        final_s = time.monotonic() - collected
        self.compare(incident, final)
        self.resolve(incident)
        self.check_messages(incident, secret)
        return Walked(
            self.made.backend, self.job.num_files, collected - began, provisional_s, final_s,
            len(self.receiver.kept()), tuple(self.faults),
        )  # fmt: skip

    def subscribe(self) -> str:
        """Have everything told to the receiver; the secret."""
        wanted = {"kind": "generic", "url": f"{self.receiver.url}/all", "events": _EVENTS}
        return str(self.admin.post("/v1/subscriptions", wanted)["secret"])

    def announce(self) -> str:
        """The hook, twice as hooks come; the incident's id."""
        told = {
            **self.job.facts,
            "expected_artifacts": self.job.num_files,
            "callback_url": f"{self.receiver.url}/callback",
        }
        ids = {self.ingest.post("/v1/hooks/job-failed", told)["incident"]["id"] for _ in "ab"}
        self.expect("incidents of one failure", len(ids), 1)
        return str(ids.pop())

    def collect(self, node: str, *, late: bool) -> "subprocess.Popen[bytes]":
        """The collector of one node, started."""
        place = self.job.places[node]
        kernel_log = next(place.glob("kernel.log*"))
        command = [
            sys.executable, "-m", "triage.collectors", "--url", self.made.address,
            "--token-file", str(self.token_file), "--job-id", self.job.job_id, "--node", node,
            "--fr", f"{place}/fr/*", "--kernel-log", str(kernel_log), "--spool",
            str(self.folder / "spools" / node), "--strict", "--shared", "own",
        ]  # fmt: skip
        for log in place.glob("*.*"):
            if log != kernel_log:
                command += ["--logs", str(log)]
        if late:
            command += ["--deadline", "160", "--wait-for-dumps", "90"]
        return subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    def answered(self, suspects: str) -> dict[str, Any] | None:
        found: dict[str, Any] = self.read.get(suspects)
        return found if found["revision"] else None

    def final(self, suspects: str) -> dict[str, Any] | None:
        found: dict[str, Any] = self.read.get(f"{suspects}?wait_s=20")
        return found if found["state"] == "ready" else None

    def compare(self, incident: str, final: Mapping[str, Any]) -> None:
        """The service says what the command says of the same files."""
        expected = self.job.analysed()
        report = self.read.get(f"/v1/incidents/{incident}/report")
        self.expect("final", final["provisional"], False)
        self.expect("culprits", [final["suspects"][0]["node"]], list(self.job.truth.culprit_nodes))
        for key in ("node", "category", "probability", "action"):
            top = expected["suspects"][0]
            if key in top:
                self.expect(f"top suspect's {key}", final["suspects"][0][key], top[key])
        self.expect("suspects", _nodes_of(final["suspects"]), _nodes_of(expected["suspects"]))
        for key in ("kind", "category", "confidence", "action", "cordon", "at"):
            self.expect(f"verdict's {key}", report["verdict"][key], expected["verdict"][key])
        states: dict[str, int] = {}
        for one in self.read.get(f"/v1/incidents/{incident}/artifacts?limit=500")["items"]:
            states[one["state"]] = states.get(one["state"], 0) + 1
        self.expect("artifacts", states, {"analysed": self.job.num_files})

    def resolve(self, incident: str) -> None:
        """A person says what it was."""
        said = {"category": "nic", "node": self.job.truth.culprit_nodes[0], "note": "port replaced"}
        self.read.post(f"/v1/incidents/{incident}/resolution", said)
        there = self.read.get(f"/v1/incidents/{incident}")["resolution"]
        self.expect("resolution", {key: there[key] for key in said}, said)

    def check_messages(self, incident: str, secret: str) -> None:
        """Each message came, signed."""
        secrets = {"/all": secret, "/callback": CALLBACK_SECRET}
        wanted = [("/all", event) for event in _EVENTS[:2] + _EVENTS[3:4]]
        wanted += [("/callback", event) for event in ("incident.ready", "incident.resolved")]
        for path, event in wanted:
            try:
                eventually(lambda p=path, e=event: self.came(p, e, incident), 15.0)  # type: ignore[misc]
            except TimeoutError:
                self.faults.append(f"{event} did not come to {path}")
        kept = self.receiver.kept()
        for one in kept:
            if not verified(one, secrets[one.path]):
                self.faults.append(f"the signature of {one.id} is not verified")
        self.faults += identity_faults(kept)

    def came(self, path: str, event: str, incident: str) -> list[Got]:
        return [one for one in self.receiver.of(event, incident) if one.path == path]

    def expect(self, what: str, found: object, wanted: object) -> None:
        if found != wanted:
            self.faults.append(f"{what}: {found!r}, not {wanted!r}")


def _nodes_of(suspects: Sequence[Mapping[str, Any]]) -> list[object]:
    return [(one["node"], one["category"]) for one in suspects]


def _main() -> int:
    """Walk on each backend; 1 when something was not as promised."""
    end_well()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--backend", choices=BACKENDS, action="append", help="all without it")
    backends = parser.parse_args().backend or list(BACKENDS)
    print("backend    files  all acked s  first provisional s  final after last ack s  webhooks")
    faults = 0
    for backend in backends:
        with (
            tempfile.TemporaryDirectory(prefix="triage-walk-") as folder,
            servers(backend) as given,
        ):
            one = walk(backend, Path(folder), given)
        print(
            f"{backend:<9} {one.num_files:>6} {one.collected_s:>12.1f} {one.provisional_s:>20.1f}"
            f" {one.final_s:>23.1f} {one.num_webhooks:>9}"
        )
        for fault in one.faults:
            print(f"  FAULT: {fault}")
        faults += len(one.faults)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(_main())
