"""The answer to one incident: verdict, ranked suspects, evidence, coverage.

These are plain values. ``Answer.to_dict`` is the wire form ``triage.report/1``;
what stands beside it (``ranks``, ``waits``, ``timeline`` and ``missing``) feeds the pictures
and the next step.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Literal

from triage.domain.category import LLAMA3_ROW, Action, Category, Role, VerdictKind
from triage.domain.file_kind import FileKind
from triage.domain.next_step import NextStep, Symptom
from triage.domain.progress import ChangeKind, JobProgress
from triage.domain.restart import Restart
from triage.domain.slow import SlowJob
from triage.domain.wire import UNSENT, Rounded, Share, WireForm, convert_to_wire

SCHEMA: Final = "triage.report/1"
MAX_REASONS = 8
"""As many reasons as a suspect has at most."""


@dataclass(frozen=True, slots=True)
class JobFacts(WireForm):
    """What is known of the job; None where nothing says it."""

    job_id: str | None = None
    world_size: int | None = None
    num_nodes: int | None = None


@dataclass(frozen=True, slots=True)
class Because(WireForm):
    """One reason, with its place: ``artifact`` and ``line`` (text files only)."""

    detector: str
    text: str
    artifact: str | None = None
    line: int | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Suspect(WireForm):
    """One node of the ranked answer, or one rank where no map is known."""

    position: int
    node: str | None
    ranks: tuple[int, ...]
    gpus: tuple[str, ...]
    category: Category
    score: Annotated[Share, Rounded(decimals=4)]
    role: Role
    action: Action
    because: tuple[Because, ...]


@dataclass(frozen=True, slots=True)
class Verdict(WireForm):
    """The one sentence and what follows from it."""

    WIRE: ClassVar[tuple[str, ...]] = (
        "kind", "category", "llama3_category", "confidence", "summary", "action", "cordon", "at",
    )  # fmt: skip

    kind: VerdictKind
    category: Category
    confidence: Annotated[Share, Rounded(decimals=4)]
    summary: str
    action: Action
    cordon: tuple[str, ...] = ()
    at: datetime | None = None

    @property
    def llama3_category(self) -> str | None:
        """Row of the Llama 3 table, None where the table has none."""
        return LLAMA3_ROW[self.category]


@dataclass(frozen=True, slots=True)
class CollectiveAtFrontier(WireForm):
    """A collective that some members entered and not all finished. Global ranks, ascending."""

    pg: str
    desc: str
    seq_id: int
    op: str
    waiting: tuple[int, ...]
    missing: tuple[int, ...]
    mismatched: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Victims(WireForm):
    """Who only waits."""

    ranks: tuple[int, ...] = ()
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused(WireForm):
    """A file that was not read, and why."""

    artifact: str
    why: str


@dataclass(frozen=True, slots=True)
class UnreadLine(WireForm):
    """A line about the stop that neither a signature nor the trained reader can place."""

    text: str
    artifact: str
    line: int | None = None
    at: datetime | None = None
    node: str | None = None


@dataclass(frozen=True, slots=True)
class Coverage(WireForm):
    """What the answer rests on, and what it could not see.

    ``lines_not_understood`` counts lines that are too long or no text, and those about the stop
    that nobody can place; ``unread_examples`` are the first ten of these.
    """

    ranks_expected: int | None = None
    dumps_read: int = 0
    ranks_without_dump: tuple[int, ...] = ()
    partial: tuple[Refused, ...] = ()
    unreadable: tuple[Refused, ...] = ()
    lines_read: int = 0
    lines_not_understood: int = 0
    notes: tuple[str, ...] = ()
    unread_examples: tuple[UnreadLine, ...] = ()


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
class Moment(WireForm):
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
    error_s: Annotated[float, UNSENT] = 0.0


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
class WantedFile(WireForm):
    """A file that is not there and would make the answer surer.

    ``node`` and ``rank`` are None where nothing tells them. ``filename`` is the name of the digest
    that is there in place of a dump; None where nothing of the file is there.
    """

    kind: FileKind
    node: str | None
    rank: int | None
    why: str
    filename: str | None = None


@dataclass(frozen=True, slots=True)
class StandingRanks(WireForm):
    """Ranks whose stacks are at the same place of the program.

    ``frames`` are of one of them, from the outside to the inside; ``stands_at`` is the one to look
    at. ``state`` is what they are in: ``collective``, ``device``, ``data``, ``code`` ...
    ``seen_twice`` is whether two looks show them there.
    """

    ranks: tuple[int, ...]
    nodes: tuple[str, ...]
    frames: tuple[str, ...]
    state: str
    seen_twice: bool = False
    stands_at: str | None = None


@dataclass(frozen=True, slots=True)
class Answer(WireForm):
    """Everything that is said about one incident."""

    WIRE: ClassVar[tuple[str, ...]] = (
        "schema", "job", "verdict", "suspects", "groups", "victims", "coverage",
    )  # fmt: skip

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
    wanted: tuple[WantedFile, ...] = ()
    stacks: tuple[StandingRanks, ...] = ()
    slow_job: SlowJob | None = None
    """What makes a job slow that moves, by the durations of its dumps."""
    restart: Restart | None = None
    """Whether to start the job again; None of one that did not stop."""
    next_step: NextStep | None = None
    """What to do now; None of an answer on its way, and of an older release."""
    symptoms: tuple[Symptom, ...] = ()
    """What was seen first, where no cause is known."""

    @property
    def schema(self) -> Literal["triage.report/1"]:
        """Name and version of the wire form."""
        return SCHEMA

    @property
    def groups(self) -> tuple[CollectiveAtFrontier, ...]:
        """The collectives, under the name that reports give them."""
        return self.collectives

    def to_dict(self) -> dict[str, Any]:
        """The wire form: exactly what ``triage analyze --format json`` prints."""
        wanted = {"wanted": [one.to_dict() for one in self.wanted]} if self.wanted else {}
        stacks = {"stacks": [one.to_dict() for one in self.stacks]} if self.stacks else {}
        slow = {} if self.slow_job is None else {"slow": self.slow_job.to_dict()}
        restart = {} if self.restart is None else {"restart": self.restart.to_dict()}
        step = {} if self.next_step is None else {"next_step": self.next_step.to_dict()}
        seen = [one.to_dict() for one in self.symptoms]
        symptoms = {"symptoms": seen} if seen else {}
        first = {**convert_to_wire(self), **step, **symptoms, **restart}
        return {**first, **slow, **self.course(), **wanted, **stacks}

    def course(self) -> dict[str, Any]:
        """How the job moved, where its logs tell it; ``slow`` where its steps became slower."""
        if self.progress is None:
            return {}
        slower = self.progress.change(ChangeKind.SLOWER)
        told: dict[str, Any] = {"progress": self.progress.to_dict()}
        if slower is not None and slower.before and slower.after and self.progress.curve.in_seconds:
            told["slow"] = {
                **({} if self.slow_job is None else self.slow_job.to_dict()),
                "ms_per_step": round(slower.after * 1000, 3),
                "since": slower.since.to_dict()["at"],
                "share": round(slower.after / slower.before - 1, 4),
            }
        return told
