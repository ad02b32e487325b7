"""Exports and ends of jobs whose fields lie."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from tests.hostile.fleet_body import ENDED, IMPORT, JSON, NOW, NUMBERS, YEARS, FleetBody, body, lies

TABLES = {
    "csv": "job_id,started_at,ended_at,ending,num_nodes,num_gpus,nodes,cluster,cause",
    "sacct": "JobIDRaw|Cluster|State|Start|End|NNodes|AllocTRES|NodeList",
    "inventory": "node,generation,rack,leaf_switch,cluster",
    "outages": "node,from,to,reason,cluster",
    "events": "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User",
    "days": "node,from_day,to_day,cause,detail",
    "tickets": "number,opened_at,closed_at,short_description,cmdb_ci,close_notes",
}

SAME = {
    "JobIDRaw": "job_id",
    "Cluster": "cluster",
    "State": "ending",
    "Start": "started_at",
    "End": "ended_at",
    "NNodes": "num_nodes",
    "NodeList": "nodes",
    "node": "nodes",
    "from": "started_at",
    "to": "ended_at",
    "reason": "cause",
    "NodeName": "nodes",
    "TimeStart": "started_at",
    "TimeEnd": "ended_at",
    "opened_at": "started_at",
    "closed_at": "ended_at",
    "cmdb_ci": "nodes",
}


LISTINGS = {
    "slurmctld": (
        "[2026-11-20T22:00:00.1] update_node: node h0 reason set to: h0\n"
        "[2026-11-20T22:00:00.1] update_node: node h0 state set to DOWN\n"
        "[2026-11-20T22:00:00.2] error: Nodes h0 not responding, setting DOWN\n"
        "[2026-11-20T23:00:00.1] node h0 returned to service\n"
    ),
    "scontrol": "NodeName=h0 Gres=gpu:h100:8\n State=h0\n Reason=x [root@2026-11-20T22:00:00]\n",
}


def documents(at: str, end: str) -> dict[str, Any]:
    """A good document of each kind that tells of nodes."""
    node = {
        "kind": "Node",
        "metadata": {"name": "h0", "labels": {"nvidia.com/gpu.product": "H100"}},
        "spec": {"taints": [{"key": "node.kubernetes.io/unschedulable", "timeAdded": at}]},
        "status": {
            "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": at}],
        },
    }
    event = {
        "kind": "Event",
        "involvedObject": {"kind": "Node", "name": "h0"},
        "reason": "NodeNotReady",
        "firstTimestamp": at,
        "series": {"lastObservedTime": end},
    }
    return {
        "nodes": {"kind": "List", "items": [node, event]},
    }


def imports() -> Iterator[FleetBody]:
    at, end = f"{NOW - timedelta(hours=9):%Y-%m-%dT%H:%M:%SZ}", f"{NOW:%Y-%m-%dT%H:%M:%SZ}"
    good = {
        "job_id": "1",
        "started_at": at,
        "ended_at": end,
        "ending": "failed",
        "num_nodes": "2",
        "num_gpus": "16",
        "nodes": "h[0-1]",
        "cluster": "hostile",
        "cause": "gpu",
    }
    odd = [
        *YEARS,
        *NUMBERS,
        "\0",
        '"',
        "x" * 5000,
        "n[0-99999999]",
        "n[0-9][0-9][0-9][0-9][0-9][0-9]",
        "n[" * 500,
        "n[9-0]",
        "n[1-2",
        "[1]",
        ",,,,",
        "n[00000000000000000001-2]",
    ]
    for tool, header in TABLES.items():
        names = header.replace("|", ",").split(",")
        mark = "|" if "|" in header else ","
        rows = []
        for place in range(len(names)):
            for cell in odd:
                row = [str(good.get(SAME.get(one, one), "1")) for one in names]
                row[place] = cell
                rows.append(
                    mark.join(f'"{one}"' if "," in one and mark == "," else one for one in row)
                )
        for start in range(0, len(rows), 60):
            text = "\n".join([header, *rows[start : start + 60]])
            yield body(f"{tool}-{start}", IMPORT, text)
        yield body(f"{tool}-header-alone", IMPORT, header)
        yield body(f"{tool}-ragged", IMPORT, header + "\n" + mark * 5000 + "\n1\n\n")
    kind = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            {
                "kind": "Job",
                "metadata": {"name": "j", "namespace": "x", "uid": "u", "creationTimestamp": at},
                "spec": {
                    "parallelism": 2,
                    "template": {
                        "spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "8"}}}]}
                    },
                },
                "status": {
                    "startTime": at,
                    "completionTime": end,
                    "failed": 1,
                    "conditions": [
                        {
                            "type": "Failed",
                            "status": "True",
                            "lastTransitionTime": end,
                            "reason": "BackoffLimitExceeded",
                        }
                    ],
                },
            },
            {
                "kind": "Pod",
                "metadata": {
                    "name": "p",
                    "namespace": "x",
                    "labels": {"batch.kubernetes.io/job-name": "j"},
                },
                "spec": {
                    "nodeName": "h0",
                    "containers": [{"resources": {"limits": {"nvidia.com/gpu": 8}}}],
                },
                "status": {
                    "phase": "Failed",
                    "startTime": at,
                    "containerStatuses": [
                        {
                            "state": {
                                "terminated": {"exitCode": 1, "startedAt": at, "finishedAt": end}
                            }
                        }
                    ],
                },
            },
        ],
    }
    for where, value in lies(kind):
        yield body(f"kubernetes-{where}", IMPORT, json.dumps(value))
    for name, document in documents(at, end).items():
        for where, value in lies(document):
            yield body(f"{name}-{where}", IMPORT, json.dumps(value))
    for name, text in LISTINGS.items():
        for cell in odd:
            yield body(f"{name}-{cell[:20]!r}", IMPORT, text.replace("h0", cell))
            yield body(
                f"{name}-time-{cell[:20]!r}", IMPORT, text.replace("2026-11-20T22:00:00", cell)
            )
    for query in (
        "?day_zero=yesterday",
        "?day_zero=" + "9" * 200,
        "?nodes=n[1-99999999]",
        "?nodes=%00",
        "?zone=Mars/Olympus",
        "?zone=../../etc/passwd",
        "?zone=%00",
        "?zone=",
        "?zone=" + "U" * 300,
        "?cluster=",
        "?cluster=%00",
        "?zone=UTC&zone=UTC",
    ):
        yield body(f"query-{query[:20]}", IMPORT, TABLES["csv"] + "\n", query=query)


def hooks() -> Iterator[FleetBody]:
    good = {
        "job_id": "1",
        "cluster": "hostile",
        "started_at": f"{NOW - timedelta(hours=9):%FT%TZ}",
        "ended_at": f"{NOW:%FT%TZ}",
        "state": "FAILED",
        "nodes": ["h0", "h1"],
        "nodelist": "h[0-1]",
        "gpus_per_node": 8,
        "exit_code": "1:0",
        "world_size": 16,
        "num_nodes": 2,
        "SLURM_JOB_START_TIME": "1795222800",
        "rank_to_node": {"0": "h0"},
        "leaf_switch": {"h0": "l0"},
        "gpu_bus_ids": {"h0": ["0000:1b:00.0"]},
    }
    for where, value in lies(good):
        yield body(f"ended-{where}", ENDED, json.dumps(value), headers=JSON)
    for name, text in {
        "empty": "",
        "list": "[]",
        "null": "null",
        "deep": "[" * 9000 + "]" * 9000,
        "cut": '{"job_id": "1"',
        "twice": '{"job_id": "1", "job_id": "2"}',
        "nan": '{"job_id": "1", "x": NaN}',
        "surrogate": '{"job_id": "\\ud800"}',
        "digits": '{"job_id": ' + "9" * 9000 + "}",
        "utf-16": '{"job_id": "1"}'.encode("utf-16").decode("latin-1"),
        "keys": "{" + ",".join(f'"k{k}": 1' for k in range(50_000)) + "}",
    }.items():
        yield body(f"ended-{name}", ENDED, text, headers=JSON)
