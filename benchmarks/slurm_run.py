"""A node of a real Slurm from ``sbatch`` to drained and back, in seconds a step.

A job on two nodes writes the kernel log of a GPU that fell off the bus, and fails. Slurm runs the
scripts of ``examples/slurm`` as its Epilog and EpilogSlurmctld; the service answers, and its
actuator drains the node (``TRIAGE_ACT_MODE=auto``) and gives it back. The kernel log is made up:
a ``journalctl`` of the run stands for the machine's own. Slurm has to be installed.

::

    python -m benchmarks.slurm_run
"""

import json
import sys
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from benchmarks.service_processes import ROOT, Installation, end_well, installed
from tests.support.slurm import SlurmCluster, missing_programs, slurm_cluster
from tests.support.waiting import eventually

NODE: Final = "gpu001"
_JOB: Final = """
now() {{ date -u +%Y-%m-%dT%H:%M:%S.000000+0000; }}
echo "$(now) gpu001 kernel: NVRM: Xid (PCI:0000:5d:00): 79, pid='<unknown>', name=<unknown>,\
 GPU has fallen off the bus." >{folder}/kernel.log
echo "$(now) [rank3]: RuntimeError: CUDA error: unspecified launch failure"
echo "$(now) [rank3]: terminate called after throwing an instance of 'c10::Error'"
sleep 1
exit 134
"""


class _Steps:
    """Prints how long each step took, and the time since the first."""

    def __init__(self) -> None:
        self.first = self.began = time.perf_counter()

    def done(self, name: str) -> None:
        """The step that ends now."""
        now = time.perf_counter()
        print(f"{now - self.began:8.3f} s  {now - self.first:8.3f} s  {name}", flush=True)
        self.began = now


def main() -> None:
    """Run it once."""
    if missing := missing_programs():
        sys.exit(f"Slurm is not here: {', '.join(missing)}")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm-")))
        folder.chmod(0o755)
        (folder / "c").mkdir()
        steps = _Steps()
        hooks = {
            "Epilog": _wrapper(folder, "epilog.sh"),
            "EpilogSlurmctld": _wrapper(folder, "EpilogSlurmctld.sh"),
        }
        cluster = stack.enter_context(slurm_cluster(folder / "c", 6, hooks))
        steps.done("a cluster of six nodes")
        service = stack.enter_context(installed("embedded", folder / "s", _settings_of(cluster)))
        _configure(folder, service)
        steps.done("the service")
        _run(folder, cluster, service)


def _run(folder: Path, cluster: SlurmCluster, service: Installation) -> None:
    """From ``sbatch`` to drained and back."""
    steps = _Steps()
    script = _JOB.format(folder=folder)
    job = cluster.submit(script, "--nodes=2", "--gpus-per-node=8", "--output=slurm-%j.out")
    cluster.wait("the job has failed", lambda: cluster.job_state(job) == "FAILED", 60)
    steps.done("sbatch until the job has failed")
    incident = eventually(lambda: _incident_of(service, job), 60)
    steps.done("an incident is open")
    eventually(lambda: "ready" in _asked(service, f"/v1/incidents/{incident}")["state"], 90)
    verdict = _asked(service, f"/v1/incidents/{incident}")["verdict"]
    steps.done(f"the answer has settled: {verdict['category']}, {verdict['cordon']}")
    eventually(lambda: "drain" in cluster.state(NODE), 60)
    steps.done("the node is drained")
    print(cluster.record(NODE).partition("Reason=")[2].strip())
    reason = cluster.record(NODE).partition("Reason=")[2].partition(" ")[0]
    assert reason.startswith(f"triage:{incident}:"), reason
    drain = next(one for one in _asked(service, "/v1/actions")["items"] if one["verb"] == "drain")
    service.command("act", "undo", drain["id"], "--url", service.address)
    eventually(lambda: "drain" not in cluster.state(NODE), 60)
    steps.done("the node is back in service")


def _settings_of(cluster: SlurmCluster) -> dict[str, str]:
    return {
        "SLURM_CONF": cluster.env["SLURM_CONF"],
        "TRIAGE_QUIET_S": "3",
        "TRIAGE_ACT_MODE": "auto",
        "TRIAGE_ACT_SYSTEM": "slurm",
        "TRIAGE_ACT_CLUSTER": cluster.name,
    }


def _wrapper(folder: Path, name: str) -> str:
    """A script that runs one of the examples with the configuration of this run."""
    path = folder / name
    path.write_text(
        f"#!/bin/sh\nexport TRIAGE_CONF={folder}/triage.conf\n"
        f"export PATH={folder}/$SLURMD_NODENAME:/usr/bin:/bin\n"
        f"exec {ROOT}/examples/slurm/{name}\n"
    )
    path.chmod(0o755)
    return str(path)


def _configure(folder: Path, service: Installation) -> None:
    for node, shown in ((NODE, f"cat {folder}/kernel.log"), ("gpu002", "true")):
        (folder / node).mkdir()
        journal = folder / node / "journalctl"
        journal.write_text(f"#!/bin/sh\n{shown}\n")
        journal.chmod(0o755)
    for name in ("token", "header"):
        (folder / name).touch(mode=0o600)
    token = service.command("token", "create", "--scope", "ingest", "--name", "nodes").split()[-1]
    (folder / "token").write_text(token)
    (folder / "header").write_text(f"Authorization: Bearer {token}\n")
    (folder / "triage.conf").write_text(
        f"TRIAGE_URL={service.address}\nTRIAGE_TOKEN_FILE={folder}/token\n"
        f"TRIAGE_HEADER_FILE={folder}/header\nTRIAGE_HOME={ROOT}\nTRIAGE_PYTHON={sys.executable}\n"
        f"TRIAGE_LOG={folder}/hooks.log\nTRIAGE_SPOOL={folder}/spool\nTRIAGE_GPUS_PER_NODE=8\n"
    )


def _asked(service: Installation, path: str) -> dict[str, Any]:
    with urllib.request.urlopen(service.address + path, timeout=10) as answer:
        return dict(json.load(answer))


def _incident_of(service: Installation, job: str) -> str | None:
    found = _asked(service, f"/v1/incidents?job_id={job}")["items"]
    return str(found[0]["id"]) if found else None


if __name__ == "__main__":
    end_well()
    main()
