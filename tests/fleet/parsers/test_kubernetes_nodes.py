"""Nodes and events of Kubernetes: which node was out, from when to when, and why."""

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.fleet.parsers.exports import passed, read, unread
from triage.fleet.domain.cause import OutageCause
from triage.fleet.domain.exposure import NodeFacts, Outage
from triage.fleet.parsers.rows import Row

T0 = datetime(2026, 11, 20, 22, tzinfo=UTC)
HOUR = timedelta(hours=1)


def stamp(hours: float) -> str:
    return f"{T0 + hours * HOUR:%Y-%m-%dT%H:%M:%SZ}"


def event(reason: str, hours: float, node: str = "n1", **more: Any) -> dict[str, Any]:
    return {
        "kind": "Event", "involvedObject": {"kind": "Node", "name": node}, "type": "Normal",
        "reason": reason, "message": f"Node {node} status is now: {reason}",
        "firstTimestamp": stamp(hours), "lastTimestamp": stamp(hours), **more,
    }  # fmt: skip


def node(ready: str, hours: float, name: str = "n1", **more: Any) -> dict[str, Any]:
    condition = {
        "type": "Ready", "status": ready, "lastTransitionTime": stamp(hours),
        "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status.",
    }  # fmt: skip
    return {
        "kind": "Node", "metadata": {"name": name, "labels": more.pop("labels", {})},
        "spec": more.pop("spec", {}),
        "status": {"conditions": [condition, *more.pop("conditions", [])]},
    }  # fmt: skip


def listed(*items: Any, kind: str = "List") -> list[Row]:
    form, rows = read(json.dumps({"apiVersion": "v1", "kind": kind, "items": list(items)}))
    assert form == "kubernetes"
    return rows


def outages(rows: list[Row]) -> list[tuple[str, float, float | None]]:
    return [
        (
            row.node, (row.from_at - T0) / HOUR,
            None if row.to_at is None else (row.to_at - T0) / HOUR,
        )
        for row in rows
        if isinstance(row, Outage)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("items", "wanted"),
    [
        ([event("NodeNotReady", 0), event("NodeReady", 2)], [("n1", 0, 2)]),
        ([event("NodeNotReady", 0)], [("n1", 0, None)]),
        ([event("NodeReady", 2)], []),
        ([event("NodeNotSchedulable", 0), event("NodeSchedulable", 3)], [("n1", 0, 3)]),
        (
            [
                event("NodeNotSchedulable", 0), event("NodeNotReady", 1), event("NodeReady", 2),
                event("NodeSchedulable", 5),
            ],
            [("n1", 0, 5)],
        ),
        (
            [
                event("NodeNotReady", 0), event("NodeNotSchedulable", 1),
                event("NodeSchedulable", 2), event("NodeReady", 4),
            ],
            [("n1", 0, 4)],
        ),
        ([event("NodeHasSufficientMemory", 0)], []),
        ([event("NodeNotReady", 0, involvedObject={"kind": "Pod", "name": "p"})], []),
        (
            [
                {
                    "kind": "Event", "regarding": {"kind": "Node", "name": "n1"},
                    "reason": "NodeNotReady", "eventTime": "2026-11-20T22:00:00.000000Z",
                }
            ],
            [("n1", 0, None)],
        ),
        ([node("Unknown", 0)], [("n1", 0, None)]),
        ([node("False", 0)], [("n1", 0, None)]),
        ([node("True", 0)], []),
        ([event("NodeNotReady", 0), node("True", 6)], [("n1", 0, 6)]),
        (
            [
                node("True", 0, spec={"unschedulable": True, "taints": [
                    {"key": "node.kubernetes.io/unschedulable", "timeAdded": stamp(3)}]})
            ],
            [("n1", 3, None)],
        ),
        ([node("True", 0, spec={"unschedulable": True})], []),
        ([node("True", 0, spec={"taints": [{"key": "dedicated", "timeAdded": stamp(3)}]})], []),
    ],
)  # fmt: skip
def test_changes_of_nodes_are_joined(items: list[Any], wanted: list[Any]) -> None:
    for seed in range(3):
        assert outages(listed(*random.Random(seed).sample(items, len(items)))) == wanted
    assert outages(listed(*items, *items)) == wanted


def test_a_warning_says_why() -> None:
    warning = event("XIDError", 0.1, type="Warning", message="NVRM: Xid (PCI:0000:5d:00): 79")
    rows = listed(event("NodeNotReady", 0), warning, event("Rebooted", 1), event("NodeReady", 2))
    (row,) = [row for row in rows if isinstance(row, Outage)]
    assert row.cause is OutageCause.GPU
    assert row.reason.startswith("NodeNotReady; XIDError: NVRM: Xid")
    assert outages(listed(warning)) == []


def test_a_condition_says_why_and_labels_say_where() -> None:
    labels = {
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
        "network.topology.nvidia.com/leaf": "leaf03",
    }
    deadlock = {"type": "KernelDeadlock", "status": "True", "reason": "DockerHung"}
    rows = listed(node("False", 0, labels=labels, conditions=[deadlock]), kind="NodeList")
    assert NodeFacts("n1", "NVIDIA-H100-80GB-HBM3", None, "leaf03") in rows
    (row,) = [row for row in rows if isinstance(row, Outage)]
    assert row.reason == "DockerHung; NodeStatusUnknown: Kubelet stopped posting node status."
    rows = listed(node("True", 0, labels={"node-role.kubernetes.io/control-plane": ""}))
    assert NodeFacts("n1", role="control-plane") in rows


@pytest.mark.parametrize(
    "hostile",
    [
        event("NodeNotReady", 0, firstTimestamp="soon"),
        event("NodeNotReady", 0, firstTimestamp=None, lastTimestamp=7),
        event("NodeNotReady", 0, node="x" * 400),
        event("NodeNotReady", 0, node="a\nb"),
        node("False", 0, name=""),
        {"kind": "Event", "involvedObject": {"kind": "Node", "name": "n1"}, "type": "Warning"},
        {"kind": "Node", "metadata": {"name": "n1"}, "status": {
            "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "x"}]}},
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named(hostile: dict[str, Any]) -> None:
    rows = listed(hostile, event("NodeNotReady", 0, node="n9"))
    assert len(unread(rows)) == 1
    assert outages(rows) == [("n9", 0, None)]


@pytest.mark.parametrize(
    "odd", [{"kind": "Node"}, {"kind": "Event", "involvedObject": 3}, {"kind": "Node", "spec": []}]
)
def test_odd_objects_stop_nothing(odd: dict[str, Any]) -> None:
    assert outages(listed(odd, event("NodeNotReady", 0, node="n9"))) == [("n9", 0, None)]


def test_what_says_nothing_is_counted() -> None:
    rows = listed(event("Starting", 0), event("x", 0, involvedObject={"kind": "Pod", "name": "p"}))
    assert sorted(passed(rows)) == [
        "events of other things than nodes",
        "events that say nothing of whether a node is in service",
    ]
