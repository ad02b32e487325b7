"""What one artifact came down to: digests, log outcomes, and what was refused.

Files may come one by one, on different days and to different workers. Each is read once;
an incident is answered from the extracts of all its files, and the answer is the
same as if the files lay in one folder.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Final

from triage.domain.evidence import Kind
from triage.domain.rank_digest import OpDescription, RankDigest
from triage.domain.report import Refused
from triage.parsers.files.inputs import InputFile
from triage.parsers.files.job_file import MAX_JOB_BYTES
from triage.parsers.flight_recorder.decoder import DESCRIBED_UNITS
from triage.parsers.flight_recorder.limits import DEFAULT_LIMITS
from triage.parsers.flight_recorder.read import DumpSet, JobFile, list_alike
from triage.parsers.flight_recorder.read import Reader as DumpReader
from triage.parsers.flight_recorder.shared import Shared
from triage.parsers.logs.catalogue import standard
from triage.parsers.logs.join import Outcome, join_logs
from triage.parsers.logs.logset import LogKind, LogSet
from triage.parsers.logs.progress.series import JobSteps
from triage.parsers.logs.read import DEFAULT_BOUNDS
from triage.parsers.logs.read import Reader as LogReader

__all__ = ["Extract", "Extractor", "join"]

# What the agent of a node and the scheduler print is not the rank's, whoever's log it stands in.
NOT_OF_A_RANK: Final = frozenset({Kind.ELASTIC, Kind.SCHEDULER})


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


class Extractor:
    """Reads files to extracts; buffers are kept from call to call. For one thread alone."""

    def __init__(self) -> None:
        self.dumps = DumpReader(Shared(), DEFAULT_LIMITS)
        # With templates, for the node that prints what no other does.
        self.logs = LogReader(standard(), DEFAULT_BOUNDS, templates=True)

    def extract(
        self, files: Sequence[InputFile], ranks: Mapping[str, int] | None = None
    ) -> list[Extract]:
        """One extract a file, in the order given. Bad bytes are refused in it, never raised.

        ``ranks`` is artifact -> the global rank that the sender says it is of; it counts
        more than the name.
        """
        self.dumps.forget()
        return [self.one(file, (ranks or {}).get(file.artifact)) for file in files]

    def one(self, file: InputFile, rank: int | None) -> Extract:
        """The extract of one file."""
        digests: list[RankDigest] = []
        refused: list[Refused] = []
        job_files: list[JobFile] = []
        foreign: list[str] = []
        for found in self.dumps.files([file]):
            if isinstance(found, RankDigest):
                digests.append(found if rank is None else replace(found, rank=rank))
            elif isinstance(found, Refused):
                refused.append(found)
            elif isinstance(found, JobFile):
                job_files.append(found)
            else:
                foreign.append(found)
        if file.artifact in foreign and PurePosixPath(file.artifact).name == "job.json":
            job_files += plain_job_file(file)
        logs: list[Outcome] = []
        refused_logs: list[Refused] = []
        for log in self.logs.files([file], frozenset(foreign)):
            if isinstance(log, Refused):
                refused_logs.append(log)
            else:
                logs.append(log if rank is None else of_rank(log, rank))
        return Extract(
            artifact=file.artifact,
            size_bytes=file.size_bytes,
            digests=tuple(digests),
            operations=operations_of(digests, self.dumps.shared),
            logs=tuple(logs),
            refused=tuple(refused),
            refused_logs=tuple(refused_logs),
            job_files=tuple(job_files),
            foreign=tuple(foreign),
        )


def plain_job_file(file: InputFile) -> list[JobFile]:
    """A ``job.json`` that lies beside the artifacts; one that cannot be read is none."""
    if file.size_bytes > MAX_JOB_BYTES:
        return []
    try:
        return [JobFile(file.artifact, file.path.read_bytes())]
    except OSError:
        return []


def of_rank(log: Outcome, rank: int) -> Outcome:
    """The log of one rank's own process: what names no rank was printed by this one."""
    if log.file.kind is not LogKind.JOB:
        return log
    rows = [
        replace(row, rank=rank) if row.rank is None and row.kind not in NOT_OF_A_RANK else row
        for row in log.rows
    ]
    file = log.file
    if file.progress is not None:
        file = replace(file, progress=of_one_rank(file.progress, rank))
    return replace(log, file=file, rows=rows)


def of_one_rank(progress: JobSteps, rank: int) -> JobSteps:
    steps = [replace(step, rank=rank) if step.rank is None else step for step in progress.steps]
    return replace(progress, steps=tuple(steps))


def operations_of(digests: Iterable[RankDigest], shared: Shared) -> dict[int, OpDescription]:
    """What the decoder put in words for these digests, whatever else it has read."""
    found: dict[int, OpDescription] = {}
    for digest in digests:
        signatures = digest.pending.sig[:DESCRIBED_UNITS].tolist()
        if digest.last_unit is not None:
            signatures.append(digest.last_unit.sig)
        for signature in signatures:
            known = shared.operations.get(signature)
            if known is not None:
                found[signature] = known
    return found


def place(extract: Extract) -> tuple[str, int, int, int]:
    """By name; two files of one name in an order of their own."""
    last = extract.digests[0].last_created_ns if extract.digests else 0
    return extract.artifact, extract.size_bytes, extract.lines, last or 0


def join(extracts: Iterable[Extract]) -> tuple[DumpSet, LogSet]:
    """Everything that the extracts hold, as the readers of a whole folder give it.

    The order of the extracts does not matter; they are taken by the name of the artifact.
    """
    ordered = sorted(extracts, key=place)
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
