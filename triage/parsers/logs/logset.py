"""What came out of the logs of an incident, and of the telemetry that lies beside them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from triage.domain.evidence import NO_STAMP, Evidence, Stamp
from triage.domain.live.look import Look
from triage.domain.report import Refused
from triage.parsers.logs.progress.series import JobSteps

if TYPE_CHECKING:  # a service that only takes files in needs no compiled loops
    from triage.parsers.telemetry.samples import TelemetryFile


class LogKind(StrEnum):
    """What a text file is, by its lines."""

    KERNEL = "kernel_log"
    JOB = "job_log"
    TELEMETRY = "telemetry"
    LIVE = "live"  # what a tool says of a running job: stacks, RAS, GPU states
    CHECKS = "checks"  # a report of a check of the node, and nothing else


@dataclass(frozen=True, slots=True)
class TemplateCount:
    """How often one file printed lines of one template, and where first (lines from 1).

    ``first_stamp`` and ``last_stamp`` are as printed; the clocks make times of them.
    """

    template: str
    count: int
    first_line: int
    last_line: int
    first_at_ns: int | None = None
    last_at_ns: int | None = None
    first_stamp: Stamp = NO_STAMP
    last_stamp: Stamp = NO_STAMP


@dataclass(slots=True)
class LogFile:
    """One log: whose it is, how much of it was read, and what it spans.

    ``node`` is from the folder or file name, else from the lines themselves, else
    None (a merged log). ``not_understood`` counts lines by reason (``too long``,
    ``binary``, ...). ``first_stamp`` and ``last_stamp`` are of the first and last line
    that carry a time; ``first_at_ns`` and ``last_at_ns`` are None where no clock is.
    ``progress`` is what the log says of the progress of its job, None where it says nothing.
    ``harmless`` are the lines, from 1, at which something known as noise begins. ``own`` is the
    label of the own signatures that it was read with, empty for none.
    """

    artifact: str
    kind: LogKind
    node: str | None = None
    lines: int = 0
    not_understood: dict[str, int] = field(default_factory=dict)
    first_at_ns: int | None = None
    last_at_ns: int | None = None
    notes: tuple[str, ...] = ()
    templates: tuple[TemplateCount, ...] = ()
    first_stamp: Stamp = NO_STAMP
    last_stamp: Stamp = NO_STAMP
    progress: JobSteps | None = None
    harmless: frozenset[int] = frozenset()
    own: str = ""
    job_id: str = ""
    """The number of its job, as the head of the log tells it; empty where it does not."""
    checksum: int = 0
    """Of its bytes: two logs with one are copies; 0 where nobody counted."""
    system: bool = False
    """Whether the services of its machine write it, beside whatever else does."""

    error_at_end: tuple[int, str] | None = None
    """Line and text of an error that nobody knows among its last lines."""

    @property
    def of_a_job(self) -> bool:
        """Whether it ends with its job, as the log of services in which no step stands does not."""
        return self.kind is LogKind.JOB and (self.progress is not None or not self.system)


@dataclass(slots=True)
class LogSet:
    """Evidence of all logs, in the order of artifact and line.

    ``templates`` is id -> template text. ``job_files`` are ``job.json`` members of archives.
    """

    files: list[LogFile] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    templates: Mapping[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    telemetry: list["TelemetryFile"] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
