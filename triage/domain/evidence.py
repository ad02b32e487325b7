"""One dated fact read out of a log, with its place: what every reader of logs yields.

A row is what the line says, before any judgement over the incident: a role and a category of its
own, who it blames, and where and when it was printed. A flood of one line is one row with a count.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from operator import attrgetter
from typing import Any, Final, TypedDict

from triage.domain.category import HARDWARE, Category
from triage.domain.wire import Time, format_iso_utc


class Clock(StrEnum):
    """What the time of a line is counted on."""

    WALL = "wall"
    UPTIME = "uptime"
    NONE = "none"


class EvidenceRole(StrEnum):
    """What a line can be for an incident: its origin, what follows, advice, or nothing."""

    ROOT = "root"
    CONSEQUENCE = "consequence"
    ADVICE = "advice"
    NOISE = "noise"


class Blame(StrEnum):
    """Whom a line speaks of."""

    SELF = "self"  # the node, GPU or rank that printed it
    PEER = "peer"  # the other end that it names
    PAIR = "pair"  # one of both ends
    STORE = "store"  # the node of the rendezvous store
    ABSENT = "absent"  # the rank that did not print it
    SHARED = "shared"  # nothing on a node: file system, scheduler, fabric manager
    NOBODY = "nobody"


class Trait(StrEnum):
    """What the joining of evidence asks of a line besides its category."""

    GENERIC = "generic"
    """Known by general words alone (``failed``, ``error``, a driver's name): convicts nobody."""
    TIMEOUT = "timeout"
    """A watchdog gave up waiting for the other ranks."""
    RENDEZVOUS = "rendezvous"
    """How ranks find each other at the start; it is lost with the process that held it."""
    ENDS_JOB = "ends_job"
    """Ends a job that had stopped before: a cause only where nobody waited."""
    GPU_LOST = "gpu_lost"
    """The GPU does not answer on its bus."""
    GPU_NOT_STARTED = "gpu_not_started"
    """CUDA does not start the GPU: the GPU, or a driver that does not fit."""
    AT_START = "at_start"
    """Something does not start: nothing stops by that which has been running."""
    ROOT_WHEN_ALONE = "root_when_alone"
    """A consequence that names the fault, where the first report of the fault is missing."""
    QUOTABLE = "quotable"
    """A driver's words: inside somebody's sentence in a job log they are a quotation."""
    TEARDOWN = "teardown"
    """Printed when a job or a driver ends or begins, also by healthy nodes."""
    NOT_THE_JOB = "not_the_job"
    """About a process or service that nothing ties to the job."""
    HEADING = "heading"
    """Names the GPU of the lines of a report below it."""
    OF_A_REPORT = "of_a_report"
    """A line of a report on a GPU that a heading may have named."""
    OUTLIVED = "outlived"
    """The job went on behind it, or it is of an earlier attempt: no signature says that."""
    UNFAMILIAR = "unfamiliar"
    """No signature knows its words; the trained reader says what they are likely to tell."""
    ANY_WORDS = "any_words"
    """The form of an error in any words, of which the trained reader may know the cause."""
    FOUND_OUT = "found_out"
    """Somebody who looked into the stop tells what it was, whenever that is written."""
    TOLD_TOGETHER = "told_together"
    """Another node says the same of one server, or in the same words, within a minute."""


LASTING: Final = "lasting"
"""The field of a row that tells a state, or what is to come: it holds beyond the moment."""
LAST_LINE: Final = "last_line"
"""The field of a row of several lines that tells the last of them."""
OWN_FAMILY: Final = "local"
"""What the ids of a team's own signatures begin with."""
OWN_ACTION: Final = "own_action"
"""The field of a row that names the next step, where a team's own signature gives one."""
ACTOR: Final = "actor"
"""The field of a row whose prefix names the program that printed it: Ray's class, an engine's."""
OF_A_PROGRAM: Final = "of_a_program"
"""The field of a row with a number that one of several programs gave itself, no rank of the job."""
BY_FILE: Final = "by_file"
"""The field of a row whose node is only that of the file in which it stands."""
ECHO: Final = "echo"
"""The field of a row in which something else says what only a kernel may say."""
BY_PEOPLE: Final = "by_people"
"""The field of a row that people write, of whatever they found."""
BY_RANK: Final = "by_rank"
"""The field of a row whose node is only that on which its rank is said to sit."""
HOST: Final = "host_on_lines"
"""The field of a row in a node's folder: the host, of another name, that its file's lines name."""
HOST_AMONG_SEVERAL: Final = "host_among_several"
"""The field of a row that names another host than most lines of its file do, or names none and
lies in the folders of several nodes."""
LABELS: Final = "labels"
"""The field of a row whose node is that of its file: how many different labels of launchers or
collectors stand before the lines of the file."""
OWN_RANK: Final = "own_rank"
"""The field of a row behind a task's label whose text says the same number as its rank."""
SILENCED: Final = "silenced"
"""The field of a row that a team has silenced: why."""


LEARNED: Final = "learned"
"""The signature of a row that the trained reader made of a line that no signature knows. Its
fields ``like`` and ``score`` say what prints the nearest line it has learned, and how likely its
category is."""
SURE_READING: Final = 0.9
"""From this score on a reading is as good as a signature that needs another source: of an author
left out 337 of 342 such readings are right."""
UNREAD: Final = "unread"
"""The signature of a line that neither a signature nor the reader can place."""


class Kind(StrEnum):
    """The family of a signature, as ``triage parse`` prints it."""

    XID = "xid"
    SXID = "sxid"
    GPU = "gpu"
    ECC = "ecc"
    PCIE = "pcie"
    NIC = "nic"
    LINK = "link"
    STORAGE = "storage"
    MEMORY = "memory"
    CPU = "cpu"
    POWER = "power"
    THERMAL = "thermal"
    OOM = "oom"
    LOCKUP = "lockup"
    KERNEL = "kernel"
    BOOT = "boot"
    NCCL = "nccl"
    CUDA = "cuda"
    PYTHON = "python"
    ELASTIC = "elastic"
    SCHEDULER = "scheduler"
    NUMERICS = "numerics"
    DATA = "data"
    DEPENDENCY = "dependency"
    IDENTITY = "identity"
    PROGRESS = "progress"
    TEMPLATE = "template"


KERNEL_KINDS: Final = frozenset(
    {
        Kind.XID, Kind.SXID, Kind.GPU, Kind.ECC, Kind.PCIE, Kind.NIC, Kind.LINK, Kind.STORAGE,
        Kind.MEMORY, Kind.CPU, Kind.POWER, Kind.THERMAL, Kind.OOM, Kind.LOCKUP, Kind.KERNEL,
    }
)  # fmt: skip
"""What a machine says of itself, rather than a process of the job."""


class RowOrigin(StrEnum):
    """What sort of file a row was read from, in words."""

    KERNEL_LOG = "kernel log"
    JOB_LOG = "job log"
    TELEMETRY = "telemetry"
    HEALTH_CHECK = "health check"


# By the family of a signature; all other rows are lines of logs.
_MEASURED: Final = {"telemetry": RowOrigin.TELEMETRY, "check": RowOrigin.HEALTH_CHECK}
_MENDED: Final = frozenset({"corrected", "warn", "info"})


@dataclass(frozen=True, slots=True)
class Stamp:
    """The time as the line prints it, not yet placed among other clocks.

    ``wall_ns`` is ns since the epoch as if the printed time were UTC; without a
    year it is reckoned in 2000 (a leap year). ``zone_s`` is the printed offset
    from UTC in seconds, None where none is printed. ``uptime_ns`` is since boot.
    ``error_ns`` is the resolution of the print, plus what the form is known to drift.
    """

    wall_ns: int | None = None
    uptime_ns: int | None = None
    has_year: bool = True
    zone_s: int | None = None
    error_ns: int = 0

    @property
    def clock(self) -> Clock:
        """Which of the clocks the line carries; wall where both."""
        if self.wall_ns is not None:
            return Clock.WALL
        return Clock.NONE if self.uptime_ns is None else Clock.UPTIME

    def set_zone(self, zone_s: int | None) -> "Stamp":
        """The same wall time in a zone, where it prints none itself."""
        if zone_s is None or self.wall_ns is None or self.zone_s is not None:
            return self
        return replace(self, zone_s=zone_s)


NO_STAMP = Stamp()


@dataclass(frozen=True, slots=True)
class Evidence:
    """One row of evidence.

    ``line`` counts from 1; ``count`` lines said the same between ``at_ns`` and
    ``last_at_ns`` (ns since the epoch in UTC, None where the clock could not be
    placed; known to ``error_ns``). ``rank`` is global. ``gpu`` is ``dddd:bb:dd``.
    ``also`` are categories that the line does not exclude. ``weak`` evidence needs
    another source before it may convict. ``peer`` is the other end as printed: an
    address, a node, a bus id, or ``rank 3``. ``parent_code`` is the Xid that the
    driver itself names as the cause. ``fields`` is what else the pattern read. ``traits`` are
    those of the signature.
    """

    artifact: str
    line: int | None
    signature: str
    kind: Kind
    role: EvidenceRole
    text: str
    category: Category | None = None
    also: tuple[Category, ...] = ()
    code: int | None = None
    parent_code: int | None = None
    blame: Blame = Blame.SELF
    weak: bool = False
    node: str | None = None
    rank: int | None = None
    local_rank: int | None = None
    cuda_device: int | None = None
    pid: int | None = None
    gpu: str | None = None
    peer: str | None = None
    count: int = 1
    stamp: Stamp = NO_STAMP
    last_stamp: Stamp = NO_STAMP
    at_ns: int | None = None
    last_at_ns: int | None = None
    error_ns: int = 0
    fields: Mapping[str, str] = field(default_factory=dict)
    traits: frozenset[Trait] = frozenset()

    @property
    def at(self) -> datetime | None:
        """``at_ns`` as an aware UTC time, None where it is unknown or absurd."""
        return _make_moment(self.at_ns)

    @property
    def last_line(self) -> int | None:
        """The last of the lines that it stands for."""
        text = self.fields.get(LAST_LINE, "")
        return int(text) if text.isdecimal() and len(text) < 12 else self.line

    @property
    def end_ns(self) -> int | None:
        """When the last of the lines that the row stands for was printed."""
        return self.at_ns if self.last_at_ns is None else self.last_at_ns

    @property
    def family(self) -> str:
        """The family of its signature: ``nvidia`` of ``nvidia.xid``."""
        return self.signature.partition(".")[0]

    @property
    def is_own(self) -> bool:
        """Whether a team's own signature took the line."""
        return self.family == OWN_FAMILY

    @property
    def origin(self) -> RowOrigin:
        """What sort of file it was read from."""
        log = RowOrigin.KERNEL_LOG if self.kind in KERNEL_KINDS else RowOrigin.JOB_LOG
        return _MEASURED.get(self.family, log)

    @property
    def is_mild(self) -> bool:
        """Whether a machine mended it, or only warns: it seldom stops a job."""
        if self.category is not None and self.category not in HARDWARE:
            return False
        return self.fields.get("severity", "") in _MENDED

    @property
    def is_generic(self) -> bool:
        """Whether general words alone made it known, or nothing ties it to the job."""
        return Trait.GENERIC in self.traits or Trait.NOT_THE_JOB in self.traits

    @property
    def is_firm(self) -> bool:
        """Whether it may accuse without another source."""
        return not (self.weak or self.is_mild or self.is_generic)

    def dated(self, at_ns: int, last_at_ns: int, error_ns: int) -> "Evidence":
        """The same row with its times. A large incident dates all of its rows, and
        ``dataclasses.replace`` takes three times as long.
        """
        times = (at_ns, last_at_ns, error_ns)
        values: tuple[Any, ...] = (*_BEFORE_ITS_TIMES(self), *times, self.fields, self.traits)
        return Evidence(*values)

    def to_row(self) -> dict[str, Any]:
        """The wire form: one row of ``triage parse``."""
        learned = {}
        if self.signature == LEARNED:
            learned = {"like": self.fields["like"], "score": float(self.fields["score"])}
        return {
            "artifact": self.artifact,
            "line": self.line,
            "at": format_iso_utc(self.at),
            "clock": str(self.stamp.clock),
            "node": self.node,
            "rank": self.rank,
            "kind": str(self.kind),
            "code": self.code,
            "gpu": self.gpu,
            "device": self.fields.get("device"),
            "category": None if self.category is None else str(self.category),
            "role": str(self.role),
            "signature": self.signature,
            "text": self.text,
            "count": self.count,
            "last_at": format_iso_utc(_make_moment(self.last_at_ns)),
            "uptime_s": None if self.stamp.uptime_ns is None else self.stamp.uptime_ns / 1e9,
            "weak": self.weak,
            "blame": str(self.blame),
            "also": [str(one) for one in self.also],
            **learned,
        }


# In the order of the fields, up to the first time.
_BEFORE_ITS_TIMES: Final = attrgetter(*(column.name for column in fields(Evidence)[:-5]))


class EvidenceRow(TypedDict):
    """One dated fact, as `triage parse` prints it. Each kind of row has further keys."""

    artifact: str
    line: int | None
    at: Time | None
    clock: Clock
    node: str | None
    rank: int | None
    kind: str
    code: int | None
    gpu: str | None
    category: str | None
    role: EvidenceRole
    signature: str
    text: str


def _make_moment(ns: int | None) -> datetime | None:
    """``ns`` since the epoch as an aware UTC time."""
    if ns is None:
        return None
    try:
        return datetime.fromtimestamp(ns / 1e9, UTC)
    except (OverflowError, ValueError, OSError):
        return None
