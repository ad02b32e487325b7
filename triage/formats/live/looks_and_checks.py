"""A look at GPUs in which a check can be read, too: one file, both readers."""

from dataclasses import dataclass

from triage.domain.report import Refused
from triage.formats.format import Head, ReadLines
from triage.formats.health.check_format import CheckFormat
from triage.formats.live.live_format import LiveFormat
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.source import LogStream


@dataclass(frozen=True, slots=True)
class LooksAndChecks:
    """What ``looks`` claims, with the results of ``checks`` beside the looks.

    The lines of such a file are read as those of a log (:attr:`LiveFormat.also_log`).
    """

    looks: LiveFormat
    checks: CheckFormat
    binary: bool = False

    @property
    def name(self) -> str:
        """That of the looks."""
        return self.looks.name

    @property
    def kind(self) -> None:
        """A log, as of the looks."""
        return

    @property
    def words(self) -> tuple[str, ...]:
        """Those of the looks."""
        return self.looks.words

    def claims(self, head: Head) -> bool:
        """Whether a file that begins so is one of these."""
        return self.looks.claims(head)

    def read(self, stream: LogStream, read_lines: ReadLines) -> Outcome | Refused:
        """The looks, and the rows of a log with the results among them."""
        return self.looks.read(stream, lambda log: self.checks.read(log, read_lines))
