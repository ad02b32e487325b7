"""The answer to one incident: verdict, ranked suspects, evidence, coverage.

These are plain values. ``Answer.to_dict`` is the wire form ``triage.report/1``;
what stands beside it (``ranks``, ``waits``, ``timeline`` and ``missing``) feeds the pictures
and the next step.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from triage.domain.category import LLAMA3_ROW, Action, Category, Role, VerdictKind
from triage.domain.progress import ChangeKind, JobProgress

__all__ = [
    "MAX_REASONS",
    "SCHEMA",
    "Answer",
    "Because",
    "CollectiveAtFrontier",
    "Coverage",
    "JobFacts",
    "Missing",
    "Moment",
    "RankState",
    "Refused",
    "Suspect",
    "Verdict",
    "Victims",
    "WaitEdge",
    "WaitNode",
    "Waits",
    "iso_utc",
]

SCHEMA = "triage.report/1"
MAX_REASONS = 8
"""As many reasons as a suspect has at most."""


def iso_utc(at: datetime | None) -> str | None:
    """``at`` as RFC 3339 text in UTC with milliseconds, None as None."""
    if at is None:
        return None
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What is known of the job; None where nothing says it."""

    job_id: str | None = None
    world_size: int | None = None
    num_nodes: int | None = None


@dataclass(frozen=True, slots=True)
class Because:
    """One reason, with its place: ``artifact`` and ``line`` (text files only)."""

    detector: str
    text: str
    artifact: str | None = None
    line: int | None = None
    at: datetime | None = None

    def to_dict(self) -> dict[str, Any]:
        """Its object in the JSON of a report."""
        return {
            "detector": self.detector,
            "text": self.text,
            "artifact": self.artifact,
            "line": self.line,
            "at": iso_utc(self.at),
        }


@dataclass(frozen=True, slots=True)
class Suspect:
    """One node of the ranked answer, or one rank where no map is known."""

    position: int
    node: str | None
    ranks: tuple[int, ...]
    gpus: tuple[str, ...]
    category: Category
    score: float
    role: Role
    action: Action
    because: tuple[Because, ...]

    def to_dict(self) -> dict[str, Any]:
        """Its object in the JSON of a report."""
        return {
            "position": self.position,
            "node": self.node,
            "ranks": list(self.ranks),
            "gpus": list(self.gpus),
            "category": str(self.category),
            "score": round(self.score, 4),
            "role": str(self.role),
            "action": str(self.action),
            "because": [reason.to_dict() for reason in self.because],
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """The one sentence and what follows from it."""

    kind: VerdictKind
    category: Category
    confidence: float
    summary: str
    action: Action
    cordon: tuple[str, ...] = ()
    at: datetime | None = None

    def to_dict(self) -> dict[str, Any]:
        """Its object in the JSON of a report."""
        return {
            "kind": str(self.kind),
            "category": str(self.category),
            "llama3_category": LLAMA3_ROW[self.category],
            "confidence": round(self.confidence, 4),
            "summary": self.summary,
            "action": str(self.action),
            "cordon": list(self.cordon),
            "at": iso_utc(self.at),
        }


@dataclass(frozen=True, slots=True)
class CollectiveAtFrontier:
    """A collective that some members entered and not all finished. Global ranks, ascending."""

    pg: str
    desc: str
    seq_id: int
    op: str
    waiting: tuple[int, ...]
    missing: tuple[int, ...]
    mismatched: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Its object in the JSON of a report."""
        return {
            "pg": self.pg,
            "desc": self.desc,
            "seq_id": self.seq_id,
            "op": self.op,
            "waiting": list(self.waiting),
            "missing": list(self.missing),
            "mismatched": list(self.mismatched),
        }


@dataclass(frozen=True, slots=True)
class Victims:
    """Who only waits."""

    ranks: tuple[int, ...] = ()
    nodes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Its object in the JSON of a report."""
        return {"ranks": list(self.ranks), "nodes": list(self.nodes)}


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that was not read, and why."""

    artifact: str
    why: str

    def to_dict(self) -> dict[str, Any]:
        """Its object in the JSON of a report."""
        return {"artifact": self.artifact, "why": self.why}


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the answer rests on, and what it could not see."""

    ranks_expected: int | None = None
    dumps_read: int = 0
    ranks_without_dump: tuple[int, ...] = ()
    partial: tuple[Refused, ...] = ()
    unreadable: tuple[Refused, ...] = ()
    lines_read: int = 0
    lines_not_understood: int = 0
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Its object in the JSON of a report."""
        return {
            "ranks_expected": self.ranks_expected,
            "dumps_read": self.dumps_read,
            "ranks_without_dump": list(self.ranks_without_dump),
            "partial": [one.to_dict() for one in self.partial],
            "unreadable": [one.to_dict() for one in self.unreadable],
            "lines_read": self.lines_read,
            "lines_not_understood": self.lines_not_understood,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class RankState:
    """One rank at the moment of the dumps.

    ``state`` is one of ``culprit``, ``possible``, ``waiting``, ``idle``
    (everything it issued is done), ``no_dump``, ``unknown``. ``late_ms`` is the
    delay it caused per operation, only for jobs that do not hang.
    """

    rank: int
    node: str | None
    state: str
    pg: str | None = None
    desc: str | None = None
    seq_id: int | None = None
    op: str | None = None
    late_ms: float | None = None
    artifact: str | None = None


@dataclass(frozen=True, slots=True)
class WaitNode:
    """A box of the wait-for picture: ranks that wait at the same place, or a sink.

    ``kind`` is ``collective``, ``culprit``, ``possible`` or ``no_dump``. ``ranks`` ascend.
    """

    key: str
    kind: str
    label: str
    detail: str
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WaitEdge:
    """``num_ranks`` ranks of box ``source`` wait for ranks of box ``target``."""

    source: str
    target: str
    num_ranks: int


@dataclass(frozen=True, slots=True)
class Waits:
    """The wait-for graph condensed to a few dozen boxes; ``omitted`` is how many fell out."""

    nodes: tuple[WaitNode, ...] = ()
    edges: tuple[WaitEdge, ...] = ()
    omitted: int = 0


@dataclass(frozen=True, slots=True)
class Moment:
    """One entry of the time line: the first root evidence of a node, or the stop itself.

    ``kind`` is the family of the signature, or ``stop`` and ``end``; ``error_s`` is how
    far the time may be off, in seconds.
    """

    at: datetime | None
    node: str | None
    rank: int | None
    kind: str
    category: Category | None
    text: str
    error_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Missing:
    """What was not there to be read, and could make the answer surer.

    ``kernel_logs_of`` are nodes of suspects of which no kernel log was read, ``dumps_of``
    ranks that left no dump. ``dumps``, ``kernel_logs`` and ``job_logs`` say that there is
    none at all, ``places`` that nothing tells which rank is on which node.
    """

    kernel_logs_of: tuple[str, ...] = ()
    dumps_of: tuple[int, ...] = ()
    dumps: bool = False
    kernel_logs: bool = False
    job_logs: bool = False
    places: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """Everything that is said about one incident."""

    job: JobFacts
    verdict: Verdict
    suspects: tuple[Suspect, ...] = ()
    collectives: tuple[CollectiveAtFrontier, ...] = ()
    victims: Victims = field(default_factory=Victims)
    coverage: Coverage = field(default_factory=Coverage)
    ranks: tuple[RankState, ...] = ()
    waits: Waits = field(default_factory=Waits)
    timeline: tuple[Moment, ...] = ()
    missing: Missing = field(default_factory=Missing)
    progress: JobProgress | None = None

    def to_dict(self) -> dict[str, Any]:
        """The wire form: exactly what ``triage analyze --format json`` prints."""
        return {**self.parts(), **self.course()}

    def course(self) -> dict[str, Any]:
        """How the job moved, where its logs tell it; ``slow`` where its steps became slower."""
        if self.progress is None:
            return {}
        slower = self.progress.change(ChangeKind.SLOWER)
        told: dict[str, Any] = {"progress": self.progress.to_dict()}
        if slower is not None and slower.before and slower.after and self.progress.curve.in_seconds:
            told["slow"] = {
                "ms_per_step": round(slower.after * 1000, 3),
                "since": slower.since.to_dict()["at"],
                "share": round(slower.after / slower.before - 1, 4),
            }
        return told

    def parts(self) -> dict[str, Any]:
        """What every report holds."""
        return {
            "schema": SCHEMA,
            "job": {
                "job_id": self.job.job_id,
                "world_size": self.job.world_size,
                "num_nodes": self.job.num_nodes,
            },
            "verdict": self.verdict.to_dict(),
            "suspects": [suspect.to_dict() for suspect in self.suspects],
            "groups": [collective.to_dict() for collective in self.collectives],
            "victims": self.victims.to_dict(),
            "coverage": self.coverage.to_dict(),
        }
