"""What one artifact came down to: digests, log outcomes, and what was refused.

Files may come one by one, on different days and to different workers. Each is read once;
an incident is answered from the extracts of all its files, and the answer is the
same as if the files lay in one folder.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from triage.domain.rank_digest import OpDescription, RankDigest
from triage.domain.report import Refused
from triage.parsers.files.job_file import JobFile
from triage.parsers.flight_recorder.dump_set import DumpSet, list_alike
from triage.parsers.logs.join import Outcome, join_logs
from triage.parsers.logs.logset import LogSet


@dataclass(frozen=True, slots=True)
class Extract:
    """One artifact, read.

    ``operations`` describes what the digests' unfinished and last operations are, by
    signature. ``refused`` is by the reader of dumps, ``refused_logs`` by that of logs;
    ``foreign`` are the files that are no dumps. An archive gives one extract.
    """

    artifact: str
    size_bytes: int
    digests: tuple[RankDigest, ...] = ()
    operations: Mapping[int, OpDescription] = field(default_factory=dict)
    logs: tuple[Outcome, ...] = ()
    refused: tuple[Refused, ...] = ()
    refused_logs: tuple[Refused, ...] = ()
    job_files: tuple[JobFile, ...] = ()
    foreign: tuple[str, ...] = ()

    @property
    def lines(self) -> int:
        """Lines of logs that were read."""
        return sum(one.file.lines for one in self.logs)

    @property
    def usable(self) -> bool:
        """Whether anything in it can be evidence: a dump, or a line of a log."""
        return bool(self.digests) or self.lines > 0


def _place(extract: Extract) -> tuple[str, int, int, int]:
    """By name; two files of one name in an order of their own."""
    last = extract.digests[0].last_created_ns if extract.digests else 0
    return extract.artifact, extract.size_bytes, extract.lines, last or 0


def join(extracts: Iterable[Extract]) -> tuple[DumpSet, LogSet]:
    """Everything that the extracts hold, as the readers of a whole folder give it.

    The order of the extracts does not matter; they are taken by the name of the artifact.
    """
    ordered = sorted(extracts, key=_place)
    dumps = DumpSet()
    for one in ordered:
        dumps.digests += one.digests
        dumps.refused += one.refused
        dumps.foreign += one.foreign
        dumps.job_files += one.job_files
        for signature, operation in one.operations.items():
            dumps.operations.setdefault(signature, operation)
    list_alike(dumps)
    logs = join_logs(
        (log for one in ordered for log in one.logs),
        (refused for one in ordered for refused in one.refused_logs),
    )
    return dumps, logs
