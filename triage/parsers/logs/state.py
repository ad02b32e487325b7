"""A line without what others wrapped around it, and what stood there: filled rule by rule."""

from dataclasses import dataclass, field

from triage.domain.evidence import NO_STAMP, Stamp
from triage.parsers.logs.stamps import combine_stamps


@dataclass(slots=True)
class Envelope:
    """The payload of a line, and what stood around it.

    ``rank`` is global. ``task`` is the label of srun or MPI, which is ``rank`` too
    where nothing better is printed; one task may be a whole node's launcher.
    ``delta_ns`` is the time since the line before, of relative dmesg prints. ``program`` is
    the syslog tag, where it was stripped. ``printed_by`` is a name that a collector put in front of
    the line: of a host, a pod or something else. While a line is unwrapped, its payload begins at
    ``pos`` as far as known.
    """

    text: str
    stamp: Stamp = NO_STAMP
    node: str | None = None
    rank: int | None = None
    group_rank: int | None = None
    local_rank: int | None = None
    cuda_device: int | None = None
    pid: int | None = None
    address: str | None = None
    kernel: bool = False
    partial: bool = False
    sequence: int | None = None
    task: int | None = None
    delta_ns: int | None = None
    program: str | None = None
    printed_by: str | None = None
    rank_in_text: bool = False
    """Whether ``rank`` stands in the line itself and is no label of a task."""
    actor: str | None = None
    """The program that a launcher's prefix names."""
    pos: int = field(default=0, repr=False)

    def clock(self, stamp: Stamp | None) -> None:
        """Take the time that stood in a prefix, beside the one that is there."""
        if stamp is not None:
            self.stamp = combine_stamps(self.stamp, stamp)

    def host(self, name: str | None) -> None:
        """Take a host name; the outermost counts, it was put there last and on purpose.

        What is scraped stands with its port: "n7:9400".
        """
        if name and self.node is None:
            host, _, port = name[:256].partition(":")
            self.node = host if host and port.isdecimal() else name[:256]

    def said_by(self, program: str) -> None:
        """Put the name of the program before its words, as most forms of a log print it.

        Signatures know some lines by who says them, and a service's words are no job's.
        """
        text = self.text[self.pos :]
        begun = text.lstrip(" ")
        if begun.startswith((program, "{", "[")) or not begun:
            return
        pid = "" if self.pid is None else f"[{self.pid}]"
        self.text = f"{program}{pid}: {text}"
        self.pos = 0

    def finish(self) -> None:
        """Nothing more is taken off: the text is the payload alone."""
        self.text = self.text[self.pos :] if self.pos else self.text
        self.pos = 0
        self.rank_in_text = self.rank is not None
        self.rank = self.task if self.rank is None else self.rank
