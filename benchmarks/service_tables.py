"""Rows for every table of the service that grows, as a fleet of 2,000 nodes leaves them.

One node is much worse than all others, and one incident has as much evidence as is kept.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from triage.domain.category import Category, Role
from triage.domain.states import WorkKind, WorkState

__all__ = ["FilledTables", "Size", "tables"]

CLUSTERS: Final = ("a", "b", "c")
NODES: Final = 2000
FILES: Final = 4
DAYS: Final = 60
ROWS_OF_LARGEST: Final = 20_000
COMMON: Final = ("gpu", "gpu_hbm", "nvlink", "nic", "network", "storage", "software_user")
SIGNATURES: Final = tuple(f"nvidia.xid_{number}" for number in range(40))
# One incident in so many has the worst node on top.
WORST_EVERY: Final = 8


@dataclass(frozen=True, slots=True)
class Size:
    """How much of what; the same seed gives the same rows."""

    incidents: int
    evidence: int
    seed: int
    now: datetime
    waiting: int = 20_000
    facts_nodes: int = 128

    @property
    def jobs(self) -> int:
        """Some jobs fail twice."""
        return self.incidents * 4 // 5


class FilledTables:
    """Names to ask for."""

    def __init__(self, size: Size) -> None:
        self.size, self.now = size, size.now
        self.worst = node_name(7)
        self.largest = incident_id(size.incidents // 2)
        self.rows_of_largest = ROWS_OF_LARGEST

    def node(self, number: int) -> str:
        """An ordinary node."""
        return node_name(100 + number * 7 % (NODES - 200))

    def incident(self, number: int) -> str:
        """An ordinary incident."""
        return incident_id((number + 5) * 37 % self.size.incidents)

    def job(self, number: int) -> int:
        """The key of a job."""
        return (number + 5) % 100 + 1


def node_name(number: int) -> str:
    return f"gpu-{number:04d}.cluster-{CLUSTERS[number % 3]}.example"


def incident_id(number: int) -> str:
    return f"inc_{number:020d}"


def tables(size: Size) -> Iterator[tuple[str, Iterator[dict[str, Any]]]]:
    """Tables in an order in which references hold, each with its rows."""
    made: dict[str, Callable[[Size, random.Random], Iterator[dict[str, Any]]]] = {
        "cluster": clusters, "node": nodes, "job": jobs, "incident": incidents,
        "revision": revisions, "suspect": suspects, "resolution": resolutions,
        "upload": uploads, "artifact": artifacts, "digest": digests, "evidence": evidence,
        "work": work,
    }  # fmt: skip
    for name, rows in made.items():
        yield name, rows(size, random.Random(f"{size.seed} {name}"))


def clusters(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:  # noqa: ARG001
    for number, name in enumerate(("", *CLUSTERS)):
        yield {"id": number + 1, "name": name}


def nodes(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:  # noqa: ARG001
    for number in range(NODES):
        yield {
            "id": number + 1, "cluster_id": number % 3 + 2, "name": node_name(number),
            "first_seen_at": size.now - timedelta(days=DAYS), "last_seen_at": size.now,
        }  # fmt: skip


def jobs(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:  # noqa: ARG001
    for number in range(size.jobs):
        yield {
            "id": number + 1, "cluster_id": number % 3 + 2, "job_id": f"job-{number}",
            "last_turn": 0, "created_at": made_at(size, number),
        }  # fmt: skip


def made_at(size: Size, number: int) -> datetime:
    """Older ones first, the newest just now."""
    return size.now - timedelta(days=DAYS) * (1.0 - (number + 1) / size.incidents)


def category_of(number: int) -> str:
    return str(Category.SDC) if number % 2000 == 3 else COMMON[number % len(COMMON)]


def incidents(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:
    for number in range(size.incidents):
        at = made_at(size, number)
        open_now = number >= size.incidents - 200
        first = chance.randrange(NODES - size.facts_nodes)
        named = [node_name(first + k) for k in range(size.facts_nodes)]
        verdict = {
            "kind": "culprit", "category": category_of(number), "confidence": 0.9,
            "summary": "GPU 3 fell off the bus and its ranks went silent " * 4,
        }  # fmt: skip
        yield {
            "id": incident_id(number), "job_fk": number % size.jobs + 1, "key": incident_id(number),
            "announced": True,
            "facts": {
                "job_id": f"job-{number}", "nodes": named,
                "rank_to_node": {str(rank): named[rank // 8] for rank in range(8 * len(named))},
            },
            "state": "collecting" if open_now else "ready", "reason": None, "revision": 2,
            "provisional": open_now, "category": category_of(number), "verdict": verdict,
            "coverage": {"ranks": 1024, "missing": list(range(200)), "notes": ["text " * 20] * 5},
            "expected_artifacts": None, "num_artifacts": FILES, "inputs": 3, "answered_inputs": 3,
            "analysed_at": at, "analyse_s": 1.0, "created_at": at, "updated_at": at,
            "deadline_at": at, "settle_at": at, "settled_at": None if open_now else at,
        }  # fmt: skip


def revisions(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:
    for number in range(size.incidents):
        for revision in (1, 2):
            yield {
                "incident_id": incident_id(number), "revision": revision,
                "provisional": revision == 1, "answer": chance.randbytes(2000),
                "created_at": made_at(size, number),
            }  # fmt: skip


def suspects(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:
    for number in range(size.incidents):
        for position in range(1, 5):
            node = node_name(chance.randrange(10, NODES))
            if position == 1 and number % WORST_EVERY == 0:
                node = node_name(7)
            yield {
                "incident_id": incident_id(number), "position": position, "node": node,
                "category": category_of(number), "score": 1.0 / position,
                "role": str(Role.CULPRIT if position == 1 else Role.POSSIBLE),
                "row": {
                    "position": position, "node": node, "gpus": [3],
                    "because": [
                        {
                            "detector": "kernel.xid", "artifact": "nodes/n0/kernel.log",
                            "line": 41, "at": None,
                            "text": f"NVRM: Xid (PCI:0000:{k % 8:02x}:00): 79, GPU has fallen off",
                        }
                        for k in range(4)
                    ],
                },
            }  # fmt: skip


def resolutions(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:
    for number in range(0, size.incidents, 5):
        yield {
            "incident_id": incident_id(number), "category": category_of(number),
            "node": node_name(chance.randrange(NODES)), "note": "replaced", "said_by": "key_1",
            "resolved_at": made_at(size, number),
        }  # fmt: skip


def uploads(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:
    for number in range(size.incidents):
        yield {
            "id": f"upl_{number:020d}", "incident_id": incident_id(number),
            "blob_key": f"blob_{number}", "stored_bytes": chance.randrange(1 << 20),
            "created_at": made_at(size, number),
        }  # fmt: skip


def artifacts(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:
    for number in range(size.incidents):
        # The largest is of a job of 16,384 ranks.
        largest = number == size.incidents // 2
        for file in range(FILES if not largest else 18_000):
            yield {
                "id": artifact_id(number, file), "incident_id": incident_id(number),
                "upload_id": f"upl_{number:020d}", "identity": f"{chance.getrandbits(256):064x}",
                "node": node_name((number + file) % NODES), "rank": file, "kind": "kernel_log",
                "filename": f"dmesg-{file}.log", "sha256": f"{chance.getrandbits(256):064x}",
                "name_hash": f"{number:x}-{file:x}",
                "size_bytes": 1000, "position": file * 500, "stored_bytes": 500,
                "state": "analysed", "reason": None, "redacted": {}, "tries": 0,
                "created_at": made_at(size, number),
            }  # fmt: skip


def artifact_id(number: int, file: int) -> str:
    return f"art_{number:010d}{file:010d}"


def digests(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:
    for number in range(size.incidents):
        for file in range(FILES):
            yield {
                "incident_id": incident_id(number), "artifact_id": artifact_id(number, file),
                "extract": chance.randbytes(500),
            }  # fmt: skip


def evidence(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:
    each = (size.evidence - ROWS_OF_LARGEST) // (size.incidents * FILES)
    row_id = 0
    for number in range(size.incidents):
        largest = number == size.incidents // 2
        for file in range(1 if largest else FILES):
            worst = (number % WORST_EVERY == 0 and file == 0) or largest
            node = node_name(7 if worst else chance.randrange(10, NODES))
            for ordinal in range(ROWS_OF_LARGEST if largest else each):
                row_id += 1
                yield evidence_row(size, chance, row_id, (number, file, ordinal), node)


def evidence_row(
    size: Size, chance: random.Random, row_id: int, place: tuple[int, int, int], node: str
) -> dict[str, Any]:
    number, file, ordinal = place
    which = chance.randrange(len(SIGNATURES))
    return {
        # PostgreSQL would count on from here; the benchmark adds none.
        "id": row_id, "incident_id": incident_id(number), "artifact_id": artifact_id(number, file),
        "ordinal": ordinal, "artifact": f"nodes/{node}/dmesg-{file}.log", "line": ordinal + 1,
        "at": made_at(size, number), "clock": "wall", "node": node, "rank": None, "kind": "xid",
        "code": which, "gpu": f"0000:{chance.randrange(8):02x}:00", "category": "gpu",
        "role": "root" if which % 3 else "consequence", "signature": SIGNATURES[which],
        "text": f"NVRM: Xid (PCI:0000:5d:00): {which}, pid=1234, name=python, some more text",
        "count": 1 + ordinal % 3, "extra": {"pid": 1234, "process": "python"},
    }  # fmt: skip


def work(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:
    """Half as many again are done; of those that wait, a quarter may not begin yet."""
    later = size.now + timedelta(minutes=5)
    for number in range(size.waiting + size.incidents):
        waits = number < size.waiting
        analyse = number % 4 == 0
        yield {
            "id": 1_000_000 + number,
            "kind": str(WorkKind.ANALYSE if analyse else WorkKind.PARSE),
            "key": f"{'inc' if analyse else 'upl'}_work_{number}",
            "job_fk": None if analyse else number % 100 + 1,
            "turn": 0 if analyse else number // 100,
            "state": str(WorkState.WAITING if waits else WorkState.DONE), "generation": 0,
            "tries": 0,
            "not_before": later if analyse and number % 40 else size.now - timedelta(seconds=9),
            "lease_until": None, "owner": None, "last_error": None, "created_at": size.now,
            "updated_at": size.now - timedelta(seconds=chance.random()),
        }  # fmt: skip
