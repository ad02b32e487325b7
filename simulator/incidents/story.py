"""What is printed in an incident: kernel lines by node, job lines by rank, on true time.

Nothing here knows of envelopes, files or clocks: those are put around the lines
when they are written.
"""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime

from simulator.incidents.world import SECOND, Node, World


class Voice:
    """Who prints a job line, and so which stamp it carries."""

    PLAIN = "plain"  # a print of the rank's program
    CPP = "cpp"  # c10d's C++ log
    NCCL = "nccl"
    AGENT = "agent"  # the elastic agent of a node
    LOGGING = "logging"  # Python's logging in the rank's program
    SCHEDULER = "scheduler"  # the batch system


@dataclass(slots=True)
class KernelLine:
    """``extra`` are lines that belong to it, printed in the same moment."""

    at_ns: int
    level: int
    text: str
    root: bool = False


@dataclass(slots=True)
class JobLine:
    """``rank`` is -1 for an agent or the scheduler; ``severity`` is E, W, I."""

    at_ns: int
    rank: int
    node: int
    voice: str
    text: str
    severity: str = "I"
    source: str = ""
    root: bool = False


@dataclass(frozen=True, slots=True)
class BoardEvent:
    """What a node's board controller notes."""

    at_ns: int
    node: int
    what: str
    number: int
    severity: str
    root: bool


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """What Kubernetes tells of a pod or a node."""

    at_ns: int
    kind: str
    reason: str
    about: str
    text: str
    root: bool


@dataclass(frozen=True, slots=True)
class StuckOperation:
    """The oldest operation that a rank has not finished, as c10d will report it."""

    pg: str
    desc: str
    group_rank: int
    seq: int
    op: str
    numel_in: int
    numel_out: int
    since_ns: int
    enqueued: int
    completed: int


@dataclass(slots=True)
class Story:
    """An incident under way. ``fault_ns`` is when it happened, ``end_ns`` when the job was over."""

    world: World
    chance: random.Random
    culprit: int
    start_ns: int
    fault_ns: int
    end_ns: int
    timeout_ms: int = 600_000
    hang: bool = False
    waits: dict[int, StuckOperation] = field(default_factory=dict)
    kernel: dict[int, list[KernelLine]] = field(default_factory=dict)
    job: list[JobLine] = field(default_factory=list)
    board: list[BoardEvent] = field(default_factory=list)
    events: list[ClusterEvent] = field(default_factory=list)
    controller: list[tuple[int, str, bool]] = field(default_factory=list)
    # What the truth will say; scenarios change it where they differ.
    culprit_ranks: list[int] = field(default_factory=list)
    culprit_nodes: list[int] = field(default_factory=list)
    gpus: list[str] = field(default_factory=list)
    affected: list[int] = field(default_factory=list)
    without_dump: set[int] = field(default_factory=set)
    silent_nodes: set[int] = field(default_factory=set)  # dead: they print no more
    lost_kernel_logs: set[int] = field(default_factory=set)  # nodes whose log is not written
    silent_ranks: set[int] = field(default_factory=set)
    accepted: list[str] = field(default_factory=list)
    iteration: int = 1000
    leaf_known: bool = False

    @property
    def node(self) -> Node:
        """The node of the culprit."""
        return self.world.node_of(self.culprit)

    @property
    def bus(self) -> str:
        """The bus id of the culprit's GPU."""
        return self.world.bus_of(self.culprit)

    def at(self, seconds: float) -> int:
        """True time, ``seconds`` after the fault."""
        return self.fault_ns + int(seconds * SECOND)

    def wall(self, seconds: float, rank: int) -> datetime:
        """What the clock of the container of ``rank`` shows, without its zone."""
        node = self.world.node_of(rank)
        shown = self.at(seconds) + node.skew_ns
        zone_s = 0 if self.world.utc_inside else node.zone_s
        return datetime.fromtimestamp(shown // SECOND + zone_s, UTC).replace(
            microsecond=shown % SECOND // 1000
        )

    def log_kernel(
        self,
        seconds: float,
        *texts: str,
        node: Node | None = None,
        level: int = 3,
        root: bool = False,
        step_s: float = 0.000_01,
    ) -> None:
        """The kernel of ``node`` (the culprit's) prints ``texts`` ``seconds`` after the fault."""
        into = self.kernel.setdefault((node or self.node).index, [])
        for place, text in enumerate(texts):
            into.append(KernelLine(self.at(seconds + place * step_s), level, text, root))

    def log_rank(
        self,
        seconds: float,
        rank: int,
        *texts: str,
        voice: str = Voice.PLAIN,
        severity: str = "I",
        source: str = "",
        root: bool = False,
    ) -> None:
        """``rank`` prints ``texts`` into its log."""
        at, node = self.at(seconds), rank // self.world.gpus_per_node
        for text in texts:
            self.job.append(JobLine(at, rank, node, voice, text, severity, source, root))

    def log_agent(
        self, seconds: float, node: int, *texts: str, severity: str = "W", source: str = ""
    ) -> None:
        """The elastic agent of ``node`` prints ``texts``."""
        at = self.at(seconds)
        for text in texts:
            self.job.append(JobLine(at, -1, node, Voice.AGENT, text, severity, source))

    def log_scheduler(self, seconds: float, text: str, *, root: bool = False) -> None:
        """The batch system prints ``text`` into the job's log."""
        self.job.append(JobLine(self.at(seconds), -1, 0, Voice.SCHEDULER, text, root=root))

    def log_board(self, seconds: float, what: str, number: int, *, root: bool = True) -> None:
        """The culprit's board controller notes an event of :data:`BOARD_WORDS`."""
        at, node = self.at(seconds), self.node.index
        self.board.append(BoardEvent(at, node, what, number, "Critical", root))

    def log_cluster(
        self,
        seconds: float,
        about: str,
        reason: str,
        text: str,
        *,
        kind: str = "Normal",
        root: bool = False,
    ) -> None:
        """Kubernetes notes an event about ``pod/NAME`` or ``node/NAME``."""
        self.events.append(ClusterEvent(self.at(seconds), kind, reason, about, text, root))

    def log_controller(self, seconds: float, text: str, *, root: bool = False) -> None:
        """Slurm's controller writes a line into its log."""
        self.controller.append((self.at(seconds), text, root))

    def seed_bit(self, purpose: str) -> bool:
        """Yes or no, the same for the whole incident."""
        return self.world.chance(purpose).random() < 0.5

    def pick(self, *choices: str) -> str:
        """One of several wordings."""
        return self.chance.choice(choices)

    def hexa(self, digits: int = 8) -> str:
        """Hexadecimal digits by chance."""
        return f"{self.chance.getrandbits(4 * digits):0{digits}x}"
