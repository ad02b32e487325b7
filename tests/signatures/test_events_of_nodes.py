"""Events and notices that name a node: whose they are is not who printed them."""

import pytest

from triage.domain.evidence import LASTING
from triage.parsers.logs.envelope import read_envelope
from triage.signatures import registry
from triage.signatures.scheduler.node_names import collect_event_fields


@pytest.mark.parametrize(
    ("line", "node"),
    [
        ("3m12s  Warning  OOMKilling  node/gpu-17  Memory cgroup out of memory", "gpu-17"),
        ("Normal   NodeMaintenance   node/gpu-17.example.org: cordoned", "gpu-17.example.org"),
        ("8m  Warning  FailedMount  pod/llm-3  on node gpu-4: MountVolume failed", "gpu-4"),
        ("8m  Warning  BackOff  pod/llm-3  Back-off restarting failed container", None),
        ("SpotInterrupted node/gpu-17 Spot interruption warning was triggered", "gpu-17"),
        ("reads node/gpu-17 again", None),
        ("node/gpu-17 is well", None),
        ("3m12s  Warning  Unhealthy  service/gpu-17  Readiness probe failed", None),
        ("The node was low on resource: memory. (node gpu-17)", "gpu-17"),
        ("Node gpu-17(10.2.0.17) has a scheduled event", "gpu-17"),
        ('alert host="gpu-17" severity=critical', "gpu-17"),
        ("Node gpu-17 and node gpu-18 lost their peer", None),
        ("node gpu0042 is out, host node0012 is well", None),
        ("node gpu0042 is out", "gpu0042"),
        ("on node gpu3 of eight", None),
        ("node was low, node condition unknown, node 7 of 8, node rank3", None),
    ],
)
def test_an_event_is_of_the_node_that_it_is_about(line: str, node: str | None) -> None:
    assert collect_event_fields(line).get("node") == node


@pytest.mark.parametrize(
    ("line", "node"),
    [
        (
            "Instance i-0a1b2c3d4e5f60718 (gpu-17) is being rebooted for scheduled maintenance of"
            " the host.",
            "gpu-17",
        ),
        (
            '{"detail-type": "AWS Health Event", "detail": {"eventTypeCode":'
            ' "AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED"}, "tags":'
            ' {"kubernetes.io/hostname": "gpu-17"}}',
            "gpu-17",
        ),
        (
            "Instance i-0a1b2c3d4e5f60718 is being rebooted for scheduled maintenance of the host.",
            None,
        ),
        ("pod llm-worker-7: Evicted pod: drained for upgrade of node gpu-17.", "gpu-17"),
        ("pod llm-worker-7 was evicted by the eviction API from gpu-17: being drained", "gpu-17"),
    ],
)
def test_a_notice_is_of_the_node_that_it_names(line: str, node: str | None) -> None:
    found = registry.match(read_envelope(line).text, ())

    assert found is not None
    assert (found.reading.fields or {}).get("node") == node


@pytest.mark.parametrize(
    ("line", "holds"),
    [
        ("Normal DisruptionTerminating node/gpu-17 Disrupting Node: Underutilized/Delete", True),
        ("Normal TerminationByKubernetes pod/llm-3 being drained", False),
    ],
)
def test_what_is_announced_holds_until_it_comes(line: str, holds: bool) -> None:
    found = registry.match(line, ())

    assert found is not None
    assert (LASTING in (found.reading.fields or {})) is holds


@pytest.mark.parametrize(
    ("gpu", "device"), [("GPU 3 has", "3"), ("GPU 11 has", "11"), ("GPU 0 has", None)]
)
def test_out_of_memory_names_its_gpu_but_for_the_first(gpu: str, device: str | None) -> None:
    text = f"torch.OutOfMemoryError: CUDA out of memory. {gpu} a total capacity of 79.11 GiB"
    found = registry.match(text, ())

    assert found is not None
    assert (found.reading.fields or {}).get("cuda_device") == device
