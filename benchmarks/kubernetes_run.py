"""A node of Kubernetes from failure to drained and back, in seconds a step.

A job fails with its GPU lost, the answer convicts the node, and the Kubernetes backend drains it
and takes that back. The API server is ``kube-apiserver`` over ``etcd`` where both are
(``TRIAGE_TEST_KUBE_APISERVER``, ``TRIAGE_TEST_ETCD``, or on PATH), else one in memory over HTTP;
the last line says which.

::

    python -m benchmarks.kubernetes_run
"""

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import triage
from tests.support.kube import Kube, kube_in_memory, missing_programs, real_kube, write_kubeconfig
from triage.actions.schedulers.interface import format_act_reason
from triage.actions.schedulers.kubernetes import open_scheduler
from triage.domain.report import Verdict
from triage.settings import Settings

_XID = (
    "2026-11-21T03:14:15.000Z gpu-n1 kernel: NVRM: Xid (PCI:0000:5d:00): 79, pid='<unknown>',"
    " GPU has fallen off the bus."
)
_LOST = (
    "2026-11-21T03:14:16.000Z [rank3]: RuntimeError: CUDA error: unspecified launch failure\n"
    "2026-11-21T03:14:16.500Z [rank3]: terminate called after throwing 'c10::Error'\n"
)


class _Steps:
    """Prints how long each step took."""

    def __init__(self) -> None:
        self.began = time.perf_counter()

    def done(self, name: str) -> None:
        """The step that ends now."""
        now = time.perf_counter()
        print(f"{now - self.began:8.3f} s  {name}")
        self.began = now


def main() -> None:
    """Run it once."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        steps = _Steps()
        kube = _start(stack, folder)
        kube.add_node("gpu-n1", capacity={"nvidia.com/gpu": "8"})
        kube.add_node("gpu-n2", capacity={"nvidia.com/gpu": "8"})
        file = write_kubeconfig(kube, folder / "kubeconfig")
        steps.done("an API server with two nodes")

        scheduler = open_scheduler(Settings.model_validate({"act_kubeconfig": str(file)}))
        before = scheduler.node("gpu-n1")
        steps.done("import the client, first look at the node")

        verdict = _verdict_of(folder)
        assert verdict.cordon == ("gpu-n1",), verdict
        steps.done(f"the answer: {verdict.category} on gpu-n1 ({verdict.confidence:.2f})")

        reason = format_act_reason("inc_bench", verdict.category, verdict.confidence)
        scheduler.drain("gpu-n1", reason)
        steps.done("drain")
        seen = scheduler.node("gpu-n1")
        assert seen.drained
        assert seen.reason == reason
        steps.done("look: drained, with our reason")
        scheduler.drain("gpu-n1", reason)
        steps.done("drain again: nothing changes")
        scheduler.undrain("gpu-n1", reason, before.reason)
        steps.done("undrain")
        assert scheduler.node("gpu-n1") == before
        steps.done("look: as it was")
        print(f"API server: {'real' if kube.real else 'in memory, no kube-apiserver here'}")


def _start(stack: ExitStack, folder: Path) -> Kube:
    if missing_programs():
        return stack.enter_context(kube_in_memory())[0]
    (folder / "kube").mkdir()
    return stack.enter_context(real_kube(folder / "kube"))


def _verdict_of(folder: Path) -> Verdict:
    """The answer to a job whose GPU fell off the bus."""
    incident = folder / "incident"
    (incident / "nodes" / "gpu-n1").mkdir(parents=True)
    (incident / "nodes" / "gpu-n1" / "kernel.log").write_text(_XID + "\n", "utf-8")
    (incident / "nodes" / "gpu-n1" / "job.log").write_text(_LOST, "utf-8")
    return triage.analyze(incident).answer.verdict


if __name__ == "__main__":
    main()
