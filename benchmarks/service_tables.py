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

_CLUSTERS: Final = ("a", "b", "c")
_NODES: Final = 2000
_FILES: Final = 4
_DAYS: Final = 60
_ROWS_OF_LARGEST: Final = 20_000
_COMMON: Final = ("gpu", "gpu_hbm", "nvlink", "nic", "network", "storage", "software_user")
_SIGNATURES: Final = tuple(f"nvidia.xid_{number}" for number in range(40))
# One incident in so many has the worst node on top.
_WORST_EVERY: Final = 8


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
        self.worst = _node_name(7)
        self.largest = _incident_id(size.incidents // 2)
        self.rows_of_largest = _ROWS_OF_LARGEST

    def node(self, number: int) -> str:
        """An ordinary node."""
        return _node_name(100 + number * 7 % (_NODES - 200))

    def incident(self, number: int) -> str:
        """An ordinary incident."""
        return _incident_id((number + 5) * 37 % self.size.incidents)

    def job(self, number: int) -> int:
        """The key of a job."""
        return (number + 5) % 100 + 1


def _node_name(number: int) -> str:
    return f"gpu-{number:04d}.cluster-{_CLUSTERS[number % 3]}.example"


def _incident_id(number: int) -> str:
    return f"inc_{number:020d}"


def tables(size: Size) -> Iterator[tuple[str, Iterator[dict[str, Any]]]]:
    """Tables in an order in which references hold, each with its rows."""
    made: dict[str, Callable[[Size, random.Random], Iterator[dict[str, Any]]]] = {
        "cluster": _clusters, "node": _nodes, "job": _jobs, "incident": _incidents,
        "revision": _revisions, "suspect": _suspects, "resolution": _resolutions,
        "upload": _uploads, "artifact": _artifacts, "digest": _digests, "evidence": _evidence,
        "work": _work,
    }  # fmt: skip
    for name, rows in made.items():
        yield name, rows(size, random.Random(f"{size.seed} {name}"))


def _clusters(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:  # noqa: ARG001
    for number, name in enumerate(("", *_CLUSTERS)):
        yield {"id": number + 1, "name": name}


def _nodes(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:  # noqa: ARG001
    for number in range(_NODES):
        yield {
            "id": number + 1, "cluster_id": number % 3 + 2, "name": _node_name(number),
            "first_seen_at": size.now - timedelta(days=_DAYS), "last_seen_at": size.now,
        }  # fmt: skip


def _jobs(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:  # noqa: ARG001
    for number in range(size.jobs):
        yield {
            "id": number + 1, "cluster_id": number % 3 + 2, "job_id": f"job-{number}",
            "last_turn": 0, "created_at": _made_at(size, number),
        }  # fmt: skip


def _made_at(size: Size, number: int) -> datetime:
    """Older ones first, the newest just now."""
    return size.now - timedelta(days=_DAYS) * (1.0 - (number + 1) / size.incidents)


def _category_of(number: int) -> str:
    return str(Category.SDC) if number % 2000 == 3 else _COMMON[number % len(_COMMON)]


def _incidents(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:
    for number in range(size.incidents):
        at = _made_at(size, number)
        open_now = number >= size.incidents - 200
        first = chance.randrange(_NODES - size.facts_nodes)
        named = [_node_name(first + k) for k in range(size.facts_nodes)]
        verdict = {
            "kind": "culprit", "category": _category_of(number), "confidence": 0.9,
            "summary": "GPU 3 fell off the bus and its ranks went silent " * 4,
        }  # fmt: skip
        yield {
            "id": _incident_id(number), "job_fk": number % size.jobs + 1,
            "key": _incident_id(number),
            "announced": True,
            "facts": {
                "job_id": f"job-{number}", "nodes": named,
                "rank_to_node": {str(rank): named[rank // 8] for rank in range(8 * len(named))},
            },
            "state": "collecting" if open_now else "ready", "reason": None, "revision": 2,
            "provisional": open_now, "category": _category_of(number), "verdict": verdict,
            "coverage": {"ranks": 1024, "missing": list(range(200)), "notes": ["text " * 20] * 5},
            "expected_artifacts": None, "num_artifacts": _FILES, "inputs": 3, "answered_inputs": 3,
            "analysed_at": at, "analyse_s": 1.0, "created_at": at, "updated_at": at,
            "deadline_at": at, "settle_at": at, "settled_at": None if open_now else at,
        }  # fmt: skip


def _revisions(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:
    for number in range(size.incidents):
        for revision in (1, 2):
            yield {
                "incident_id": _incident_id(number), "revision": revision,
                "provisional": revision == 1, "answer": chance.randbytes(2000),
                "created_at": _made_at(size, number),
            }  # fmt: skip


def _suspects(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:
    for number in range(size.incidents):
        for position in range(1, 5):
            node = _node_name(chance.randrange(10, _NODES))
            if position == 1 and number % _WORST_EVERY == 0:
                node = _node_name(7)
            yield {
                "incident_id": _incident_id(number), "position": position, "node": node,
                "category": _category_of(number), "score": 1.0 / position,
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


def _resolutions(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:
    for number in range(0, size.incidents, 5):
        yield {
            "incident_id": _incident_id(number), "category": _category_of(number),
            "node": _node_name(chance.randrange(_NODES)), "note": "replaced", "said_by": "key_1",
            "resolved_at": _made_at(size, number),
        }  # fmt: skip


def _uploads(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:
    for number in range(size.incidents):
        yield {
            "id": f"upl_{number:020d}", "incident_id": _incident_id(number),
            "blob_key": f"blob_{number}", "stored_bytes": chance.randrange(1 << 20),
            "created_at": _made_at(size, number),
        }  # fmt: skip


def _artifacts(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:
    for number in range(size.incidents):
        # The largest is of a job of 16,384 ranks.
        largest = number == size.incidents // 2
        for file in range(_FILES if not largest else 18_000):
            yield {
                "id": _artifact_id(number, file), "incident_id": _incident_id(number),
                "upload_id": f"upl_{number:020d}", "identity": f"{chance.getrandbits(256):064x}",
                "node": _node_name((number + file) % _NODES), "rank": file, "kind": "kernel_log",
                "filename": f"dmesg-{file}.log", "sha256": f"{chance.getrandbits(256):064x}",
                "name_hash": f"{number:x}-{file:x}",
                "size_bytes": 1000, "position": file * 500, "stored_bytes": 500,
                "state": "analysed", "reason": None, "redacted": {}, "tries": 0,
                "created_at": _made_at(size, number),
            }  # fmt: skip


def _artifact_id(number: int, file: int) -> str:
    return f"art_{number:010d}{file:010d}"


def _digests(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:
    for number in range(size.incidents):
        for file in range(_FILES):
            yield {
                "incident_id": _incident_id(number),
        "artifact_id": _artifact_id(number, file),
                "extract": chance.randbytes(500),
            }  # fmt: skip


def _evidence(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:
    each = (size.evidence - _ROWS_OF_LARGEST) // (size.incidents * _FILES)
    row_id = 0
    for number in range(size.incidents):
        largest = number == size.incidents // 2
        for file in range(1 if largest else _FILES):
            worst = (number % _WORST_EVERY == 0 and file == 0) or largest
            node = _node_name(7 if worst else chance.randrange(10, _NODES))
            for ordinal in range(_ROWS_OF_LARGEST if largest else each):
                row_id += 1
                yield _evidence_row(size, chance, row_id, (number, file, ordinal), node)


def _evidence_row(
    size: Size, chance: random.Random, row_id: int, place: tuple[int, int, int], node: str
) -> dict[str, Any]:
    number, file, ordinal = place
    which = chance.randrange(len(_SIGNATURES))
    return {
        # PostgreSQL would count on from here; the benchmark adds none.
        "id": row_id, "incident_id": _incident_id(number),
        "artifact_id": _artifact_id(number, file),
        "ordinal": ordinal, "artifact": f"nodes/{node}/dmesg-{file}.log", "line": ordinal + 1,
        "at": _made_at(size, number), "clock": "wall", "node": node, "rank": None, "kind": "xid",
        "code": which, "gpu": f"0000:{chance.randrange(8):02x}:00", "category": "gpu",
        "role": "root" if which % 3 else "consequence", "signature": _SIGNATURES[which],
        "text": f"NVRM: Xid (PCI:0000:5d:00): {which}, pid=1234, name=python, some more text",
        "count": 1 + ordinal % 3, "extra": {"pid": 1234, "process": "python"},
    }  # fmt: skip


def _work(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:
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
