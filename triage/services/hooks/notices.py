"""What the hooks of monitoring systems come down to: a failure, a line, a report, or nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from triage.domain.failure_match import Failure
from triage.domain.wire import Key


@dataclass(frozen=True, slots=True)
class Line:
    """One line for the kernel log of a node, as our signatures read it.

    ``job_id`` is None where the sender knows only the node. ``source`` names the sender
    (it becomes part of the file's name), ``ref`` tells which of its notices this is.
    """

    node: str
    text: str
    at: datetime | None
    source: str
    ref: str
    job_id: str | None = None


@dataclass(frozen=True, slots=True)
class AgentReport:
    """What an agent reported of a node, as a document that the readers of files know.

    ``body`` is JSON, ``summary`` what it says in one line; ``at``, ``source`` and ``ref`` are as
    those of a :class:`Line`.
    """

    node: str
    body: bytes
    at: datetime | None
    source: str
    ref: str
    summary: str


@dataclass(frozen=True, slots=True)
class Ignored:
    """A notice that is accepted and kept out, and why."""

    ref: Annotated[str, Key("fingerprint")]
    why: str


@dataclass(slots=True)
class Notices:
    """Everything of one request, in its order."""

    failures: list[tuple[str, Failure]] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    reports: list[AgentReport] = field(default_factory=list)
    ignored: list[Ignored] = field(default_factory=list)
    truncated: int = 0

    def ignore(self, ref: str, why: str) -> None:
        """Keep one out."""
        self.ignored.append(Ignored(ref, why))

    def extend(self, others: Sequence["Notices"]) -> None:
        """Take in what others hold."""
        for other in others:
            self.failures += other.failures
            self.lines += other.lines
            self.reports += other.reports
            self.ignored += other.ignored
            self.truncated += other.truncated
