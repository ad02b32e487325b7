"""What has been stripped off a line so far: filled by the rules, then frozen into an envelope."""

from triage.domain.evidence import NO_STAMP, Stamp
from triage.parsers.logs.stamps import combine_stamps


class Strip:
    """A line that is being unwrapped; ``pos`` is where its payload begins as far as known."""

    __slots__ = (
        "actor",
        "address",
        "cuda_device",
        "delta_ns",
        "group_rank",
        "kernel",
        "line",
        "local_rank",
        "node",
        "partial",
        "pid",
        "pos",
        "printed_by",
        "program",
        "rank",
        "sequence",
        "stamp",
        "task",
    )

    def __init__(self, line: str) -> None:
        self.line = line
        self.pos = 0
        self.stamp: Stamp = NO_STAMP
        self.node: str | None = None
        self.rank: int | None = None
        self.task: int | None = None
        self.group_rank: int | None = None
        self.local_rank: int | None = None
        self.cuda_device: int | None = None
        self.pid: int | None = None
        self.actor: str | None = None
        self.address: str | None = None
        self.program: str | None = None
        self.printed_by: str | None = None
        self.kernel = False
        self.partial = False
        self.sequence: int | None = None
        self.delta_ns: int | None = None

    def clock(self, stamp: Stamp | None) -> None:
        """Take the time that stood in a prefix, beside the one that is there."""
        if stamp is not None:
            self.stamp = combine_stamps(self.stamp, stamp)

    def host(self, name: str | None) -> None:
        """Take a host name; the outermost counts, it was put there last and on purpose."""
        if name and self.node is None:
            self.node = name[:256]

    def said_by(self, program: str) -> None:
        """Put the name of the program before its words, as most forms of a log print it.

        Signatures know some lines by who says them, and a service's words are no job's.
        """
        text = self.line[self.pos :]
        begun = text.lstrip(" ")
        if begun.startswith((program, "{", "[")) or not begun:
            return
        pid = "" if self.pid is None else f"[{self.pid}]"
        self.line = f"{program}{pid}: {text}"
        self.pos = 0
