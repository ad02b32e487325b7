"""A year of a fleet as rows: runs of one large job, its incidents, suspects and evidence.

Each run is on all nodes but those that were out just then, as those of a fleet like a real one
are; every run fails, and one failure in six is no node's fault.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from simulator.fleet.columns import OutageRow
from simulator.fleet.fleet import simulated_outages
from simulator.fleet.wish import FleetWish
from triage.domain.category import Category, Role
from triage.fleet.store.exposure import pack_keys

_CAUSES: Final = (
    Category.GPU, Category.GPU_HBM, Category.NIC, Category.NETWORK, Category.NVLINK,
    Category.SOFTWARE_USER,
)  # fmt: skip
_XIDS: Final = (31, 48, 63, 74, 79, 94, 95, 119)
# Two thousand nodes seen over some years, with those of other clusters between them.
_FIRST_NODE: Final = 5_001


@dataclass(frozen=True, slots=True)
class Year:
    """How much of what; the same seed gives the same rows."""

    until: datetime
    nodes: int = 2048
    incidents: int = 3000
    evidence: int = 100
    days: int = 365
    seed: int = 1

    def at(self, incident: float) -> datetime:
        """When this incident was."""
        return self.until - timedelta(days=self.days) * (1 - incident / self.incidents)


def tables(year: Year) -> Iterator[tuple[str, Iterator[dict[str, Any]]]]:
    """Tables in an order in which references hold, each with its rows."""
    for name, rows in (
        ("cluster", _clusters), ("node", _nodes), ("node_set", _node_sets), ("run", _runs),
        ("outage", _outages), ("job", _jobs), ("incident", _incidents), ("suspect", _suspects),
        ("upload", _uploads), ("artifact", _artifacts), ("evidence", _evidence),
    ):  # fmt: skip
        yield name, rows(year, random.Random(f"{year.seed} {name}"))


def _clusters(year: Year, chance: random.Random) -> Iterator[dict[str, Any]]:  # noqa: ARG001
    yield from ({"id": 1, "name": ""}, {"id": 2, "name": "a"})


def _node_name(number: int) -> str:
    return f"gpu{number:04d}"


def _incident_id(number: int) -> str:
    return f"inc_{number:020d}"


def _nodes(year: Year, chance: random.Random) -> Iterator[dict[str, Any]]:  # noqa: ARG001
    for number in range(year.nodes):
        yield {
            "id": _FIRST_NODE + number, "cluster_id": 2, "name": _node_name(number),
            "first_seen_at": year.at(0), "last_seen_at": year.until,
            "generation": "H100" if number % 4 else "H200", "rack": f"r{number // 16}",
            "leaf_switch": f"leaf{number // 32}", "batch": f"b{number * 4 // year.nodes}",
            "cage": str(number % 3), "slot": str(number % 4), "role": None,
        }  # fmt: skip


@cache
def _outage_rows(year: Year) -> Sequence[OutageRow]:
    """Outages like real ones, in days since the year began."""
    return simulated_outages(FleetWish.like_real(year.nodes, year.days, year.seed))


@cache
def _out_at(year: Year) -> Sequence[frozenset[int]]:
    """The nodes that are out when each run starts."""
    rows = _outage_rows(year)
    starts = [year.days * number / year.incidents for number in range(year.incidents)]
    return [frozenset(row.node for row in rows if row.start <= day < row.end) for day in starts]


def _node_sets(year: Year, chance: random.Random) -> Iterator[dict[str, Any]]:  # noqa: ARG001
    for number, out in enumerate(_out_at(year)):
        keys = [_FIRST_NODE + node for node in range(year.nodes) if node not in out]
        yield {
            "id": number + 1, "sha256": f"{number:064d}", "num_nodes": len(keys),
            "spans": pack_keys(keys),
        }  # fmt: skip


def _runs(year: Year, chance: random.Random) -> Iterator[dict[str, Any]]:  # noqa: ARG001
    for number, out in enumerate(_out_at(year)):
        end, used = year.at(number + 0.95), year.nodes - len(out)
        yield {
            "id": number + 1, "cluster_id": 2, "job_id": f"job-{number}",
            "started_at": year.at(number), "ended_at": end, "seen_at": end,
            "ending": "unexpected", "cause": None, "num_nodes": used, "num_gpus": 8 * used,
            "node_set_id": number + 1, "source": "sacct",
        }  # fmt: skip


def _outages(year: Year, chance: random.Random) -> Iterator[dict[str, Any]]:  # noqa: ARG001
    """Those of a fleet like a real one: bursts, long repairs, returns, maintenances."""
    since = year.until - timedelta(days=year.days)
    for number, row in enumerate(_outage_rows(year)):
        lasts = row.end >= year.days
        yield {
            "id": number + 1, "node_id": _FIRST_NODE + row.node,
            "from_at": since + timedelta(days=row.start),
            "to_at": None if lasts else since + timedelta(days=row.end),
            "reason": row.reason, "source": "import", "cause": row.cause.value,
            "action": None if row.action is None else row.action.value, "planned": row.planned,
        }  # fmt: skip


def _jobs(year: Year, chance: random.Random) -> Iterator[dict[str, Any]]:  # noqa: ARG001
    for number in range(year.incidents):
        yield {
            "id": number + 1, "cluster_id": 2, "job_id": f"job-{number}", "last_turn": 0,
            "created_at": year.at(number),
        }  # fmt: skip


def _incidents(year: Year, chance: random.Random) -> Iterator[dict[str, Any]]:
    named = [_node_name(node) for node in range(year.nodes)]
    for number in range(year.incidents):
        at = year.at(number + 0.95)
        category = str(chance.choice(_CAUSES))
        yield {
            "id": _incident_id(number), "job_fk": number + 1, "key": at.isoformat(),
            "announced": True, "facts": {"job_id": f"job-{number}", "nodes": named},
            "state": "ready", "reason": None, "revision": 1, "provisional": False,
            "category": category,
            "verdict": {
                "kind": "crash", "category": category, "confidence": 0.97, "cordon": [],
                "at": at.isoformat(), "action": "drain_node",
                "summary": "GPU 0000:5d:00 of gpu0007 fell off the bus; drain it. " * 3,
            },
            "coverage": {"ranks_expected": 8 * year.nodes, "ranks_without_dump": [*range(300)]},
            "expected_artifacts": None, "num_artifacts": 4, "inputs": 4, "answered_inputs": 4,
            "analysed_at": at, "analyse_s": 1.0, "created_at": at, "updated_at": at,
            "deadline_at": at, "settle_at": at, "settled_at": at,
        }  # fmt: skip


def _suspects(year: Year, chance: random.Random) -> Iterator[dict[str, Any]]:
    for number in range(year.incidents):
        for position in (1, 2, 3):
            node, gpu = (
                _node_name(chance.randrange(year.nodes)),
                f"0000:{chance.randrange(256):02x}:00",
            )
            text = f"NVRM: Xid (PCI:{gpu}): 79, pid={number}, GPU has fallen off the bus."
            reason = {
                "detector": "kernel.xid",
                "text": text,
                "artifact": "k",
                "line": 1,
                "at": None,
            }
            yield {
                "incident_id": _incident_id(number), "position": position, "node": node,
                "category": str(Category.GPU), "score": 0.9 / position,
                "role": str(Role.CULPRIT if position == 1 else Role.POSSIBLE),
                "row": {"node": node, "category": "gpu", "gpus": [gpu], "because": [reason] * 4},
                "part": f"GPU {gpu}",
            }  # fmt: skip


def _uploads(year: Year, chance: random.Random) -> Iterator[dict[str, Any]]:  # noqa: ARG001
    for number in range(year.incidents):
        yield {
            "id": f"upl_{number:020d}", "incident_id": _incident_id(number), "blob_key": None,
            "stored_bytes": 1000, "created_at": year.at(number),
        }  # fmt: skip


def _artifacts(year: Year, chance: random.Random) -> Iterator[dict[str, Any]]:  # noqa: ARG001
    for number in range(year.incidents):
        yield {
            "id": f"art_{number:020d}", "incident_id": _incident_id(number),
            "upload_id": f"upl_{number:020d}", "identity": "kernel_log", "node": None,
            "rank": None, "kind": "kernel_log", "filename": "kernel.log", "name_hash": "k",
            "sha256": "0" * 64, "size_bytes": 1000, "position": 0, "stored_bytes": 1000,
            "state": "analysed", "reason": None, "redacted": {}, "tries": 0,
            "created_at": year.at(number),
        }  # fmt: skip


def _evidence(year: Year, chance: random.Random) -> Iterator[dict[str, Any]]:
    row = 0
    for number in range(year.incidents):
        at = year.at(number + 0.9)
        for ordinal in range(year.evidence):
            row += 1
            xid = ordinal % 10 == 0
            yield {
                "id": row, "incident_id": _incident_id(number),
                "artifact_id": f"art_{number:020d}", "ordinal": ordinal, "artifact": "kernel.log",
                "line": ordinal, "at": at, "clock": "wall",
                "node": _node_name(chance.randrange(year.nodes)), "rank": None,
                "kind": "xid" if xid else "nccl", "code": chance.choice(_XIDS) if xid else None,
                "gpu": None, "category": None, "role": "root" if xid else "consequence",
                "signature": "nvidia.xid", "text": "NVRM: Xid (PCI:0000:5d:00): 79 " * 3,
                "count": 1, "extra": {},
            }  # fmt: skip
