"""Schedulers and orchestrators: slurmctld, Kubernetes events, PBS, LSF, Ray, cloud notices."""

# ruff: noqa: E501
import datetime as dt
import json
import random

from benchmarks.field.nodes import Node


def _w(at: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(at, dt.UTC)


def slurm_lines(rows: list[tuple[float, str]]) -> str:
    """slurmctld.log."""
    out = []
    for at, text in sorted(rows):
        w = _w(at)
        out.append(f"[{w:%Y-%m-%dT%H:%M:%S}.{w.microsecond // 1000:03d}] {text}")
    return "\n".join(out) + "\n"


def slurm_noise(
    rng: random.Random, nodes: list[Node], at: float, job: str
) -> list[tuple[float, str]]:
    """What a controller writes on any day."""
    names = ",".join(n.name for n in nodes)
    rows = [
        (
            at - 9000,
            f"sched: Allocate JobId={job} NodeList={names} #CPUs={len(nodes) * 192} Partition=gpu",
        ),
        (at - 5200, f"_job_complete: JobId={rng.randrange(10**4, 10**6)} WEXITSTATUS 0"),
        (at - 4100, "error: Node other-cn-0911 has low real_memory size (1031 < 2063000)"),
        (at - 4000, "drain_nodes: node other-cn-0911 state set to DRAIN"),
        (
            at - 2900,
            "error: slurm_receive_msgs: [[other-login2]:51234] failed: Zero Bytes were transmitted or received",
        ),
        (
            at - 1800,
            "Warning: Note very large processing time from _slurmctld_background: usec=3187654 began=01:10:02.114",
        ),
        (
            at - 700,
            f"_slurm_rpc_submit_batch_job: JobId={rng.randrange(10**4, 10**6)} InitPrio=5772 usec=1032",
        ),
    ]
    return [r for r in rows if rng.random() < 0.8 or "Allocate" in r[1]]


Event = tuple[float, str, str, str, str]  # time, type, reason, object, message


def kube_table(rows: list[Event], now: float) -> str:
    """`kubectl get events -A`: ages, no clock; a first line says when it was asked."""
    out = [
        f"# kubectl get events --sort-by=.lastTimestamp   ({_w(now):%Y-%m-%dT%H:%M:%SZ})",
        "NAMESPACE   LAST SEEN   TYPE      REASON                 OBJECT                         MESSAGE",
    ]
    for at, kind, reason, what, text in sorted(rows):
        age = max(0, int(now - at))
        seen = f"{age // 60}m{age % 60}s" if age < 3600 else f"{age // 3600}h"
        out.append(
            f"{'train' if what.startswith('pod') else 'default':<11} {seen:<11} {kind:<9} {reason:<22} {what:<30} {text}"
        )
    return "\n".join(out) + "\n"


def kube_json(rows: list[Event]) -> str:
    """`kubectl get events -o json`."""
    items = []
    for at, kind, reason, what, text in sorted(rows):
        sort, _, name = what.partition("/")
        items.append({"apiVersion": "v1", "kind": "Event", "type": kind, "reason": reason, "message": text, "count": 1,
                      "involvedObject": {"kind": sort.capitalize(), "name": name}, "firstTimestamp": f"{_w(at):%Y-%m-%dT%H:%M:%SZ}",
                      "lastTimestamp": f"{_w(at):%Y-%m-%dT%H:%M:%SZ}", "source": {"component": "node-controller" if sort == "node" else "kubelet"}})  # fmt: skip
    return json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}, indent=1) + "\n"


def kube_stream(rows: list[Event]) -> str:
    """An event exporter's output, one JSON object a line."""
    out = []
    for at, kind, reason, what, text in sorted(rows):
        sort, _, name = what.partition("/")
        out.append(
            json.dumps(
                {
                    "ts": f"{_w(at):%Y-%m-%dT%H:%M:%SZ}",
                    "level": kind.lower(),
                    "reason": reason,
                    "kind": sort,
                    "name": name,
                    "msg": text,
                }
            )
        )
    return "\n".join(out) + "\n"


def kube_noise(rng: random.Random, nodes: list[Node], at: float, job: str) -> list[Event]:
    """Events of any day."""
    rows: list[Event] = [
        (
            at - 3000,
            "Normal",
            "Scheduled",
            f"pod/{job}-worker-0",
            f"Successfully assigned train/{job}-worker-0 to {nodes[0].name}",
        ),
        (
            at - 2990,
            "Normal",
            "Pulled",
            f"pod/{job}-worker-0",
            'Container image "registry.local/train:24.10" already present on machine',
        ),
        (
            at - 2400,
            "Warning",
            "BackOff",
            "pod/log-shipper-8xk2p",
            "Back-off restarting failed container shipper in pod log-shipper-8xk2p",
        ),
        (
            at - 1900,
            "Warning",
            "Unhealthy",
            "pod/kube-state-metrics-0",
            "Readiness probe failed: HTTP probe failed with statuscode: 503",
        ),
        (
            at - 1200,
            "Warning",
            "FailedMount",
            "pod/jupyter-ann-0",
            'MountVolume.SetUp failed for volume "home" : mount failed: exit status 32',
        ),
        (
            at - 800,
            "Warning",
            "FreeDiskSpaceFailed",
            "node/other-node-7",
            "Failed to garbage collect required amount of images.",
        ),
        (at - 300, "Warning", "NodeNotReady", "node/other-node-9", "Node is not ready"),
    ]
    return [r for r in rows if rng.random() < 0.8]


def pbs_lines(rows: list[tuple[float, str, str]]) -> str:
    """A PBS server's log: date;code;daemon;class;object;text."""
    return (
        "\n".join(
            f"{_w(at):%m/%d/%Y %H:%M:%S}.{int(at * 1e6) % 10**6:06d};0008;Server@pbs01;{'Node' if '.' not in who else 'Job'};{who};{text}"
            for at, who, text in sorted(rows)
        )
        + "\n"
    )


def azure_event(names: list[str], kind: str, at: float) -> str:
    """Azure's scheduled events as the instance metadata service gives them."""
    return json.dumps({"DocumentIncarnation": 4, "Events": [{"EventId": "C7061BAC-AFDC-4513-B24B-AA5F13A16123", "EventStatus": "Started", "EventType": kind, "ResourceType": "VirtualMachine", "Resources": names,
                       "NotBefore": f"{_w(at):%a, %d %b %Y %H:%M:%S GMT}", "Description": "Host server is undergoing maintenance.", "EventSource": "Platform", "DurationInSeconds": -1}]}, indent=1) + "\n"  # fmt: skip


def aws_event(name: str, instance: str, at: float, code: str, text: str) -> str:
    """An AWS health event for an instance."""
    return json.dumps({"detail-type": "AWS Health Event", "source": "aws.health", "time": f"{_w(at):%Y-%m-%dT%H:%M:%SZ}", "resources": [instance],
                       "detail": {"service": "EC2", "eventTypeCode": code, "eventTypeCategory": "scheduledChange", "startTime": f"{_w(at):%a, %d %b %Y %H:%M:%S GMT}",
                                  "eventDescription": [{"language": "en_US", "latestDescription": text}],
                                  "affectedEntities": [{"entityValue": instance, "tags": {"Name": name, "kubernetes.io/hostname": name}}]}}, indent=1) + "\n"  # fmt: skip
