"""Files to extracts: what each came down to, by the one reader of dumps and the one of streams."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from triage.domain.evidence import Kind
from triage.domain.rank_digest import OpDescription, RankDigest
from triage.domain.report import Refused
from triage.errors import ArtifactError
from triage.formats.dumps import DumpReader, is_dump
from triage.formats.node_digest import read_node_digest, write_node_digest
from triage.formats.streams import StreamReader
from triage.parsers.extract.extract import Extract
from triage.parsers.files.inputs import InputFile
from triage.parsers.files.job_file import MAX_JOB_BYTES, JobFile, is_job_file
from triage.parsers.flight_recorder.decoder import DESCRIBED_UNITS
from triage.parsers.flight_recorder.dump_set import DumpSet
from triage.parsers.flight_recorder.limits import DEFAULT_LIMITS
from triage.parsers.flight_recorder.shared import Shared
from triage.parsers.logs.catalogue import build_catalogue
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.logset import LogKind
from triage.parsers.logs.read import DEFAULT_BOUNDS, LineReader
from triage.signatures.own.own_signatures import NO_OWN, OwnSignatures

# What the agent of a node and the scheduler print is not the rank's, whoever's log it stands in.
_NOT_OF_A_RANK: Final = frozenset({Kind.ELASTIC, Kind.SCHEDULER})


class Extractor:
    """Reads files to extracts; buffers are kept from call to call. For one thread alone."""

    def __init__(self, own: OwnSignatures = NO_OWN) -> None:
        self.dumps = DumpReader(Shared(), DEFAULT_LIMITS)
        # With templates, for the node that prints what no other does.
        lines = LineReader(build_catalogue(own), DEFAULT_BOUNDS, templates=True)
        self.lines = lines
        self.streams = StreamReader(lines)

    def use(self, own: OwnSignatures) -> None:
        """Read with these own signatures from now on."""
        self.lines.catalogue = build_catalogue(own)

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
        dumps = DumpSet()
        for found in self.dumps.files([file]):
            dumps.add(found)
        digests, job_files = dumps.digests, dumps.job_files
        if rank is not None:
            digests = [replace(one, rank=rank) for one in digests]
        if file.artifact in dumps.foreign and is_job_file(file.artifact):
            job_files += _read_plain_job_file(file)
        logs, refused_logs = self.streams.split([file], frozenset(dumps.foreign))
        if rank is not None:
            logs = [_assign_log_to_rank(log, rank) for log in logs]
        return Extract(
            artifact=file.artifact,
            size_bytes=file.size_bytes,
            digests=tuple(digests),
            operations=describe_operations(digests, self.dumps.shared),
            logs=tuple(logs),
            refused=tuple(dumps.refused),
            refused_logs=tuple(refused_logs),
            job_files=tuple(job_files),
            foreign=tuple(dumps.foreign),
        )


def _read_plain_job_file(file: InputFile) -> list[JobFile]:
    """A ``job.json`` that lies beside the artifacts; one that cannot be read is none."""
    if file.size_bytes > MAX_JOB_BYTES:
        return []
    try:
        return [JobFile(file.artifact, file.path.read_bytes())]
    except OSError:
        return []


def _assign_log_to_rank(log: Outcome, rank: int) -> Outcome:
    """The log of one rank's own process: what names no rank was printed by this one."""
    if log.file.kind is not LogKind.JOB:
        return log
    rows = [
        replace(row, rank=rank) if row.rank is None and row.kind not in _NOT_OF_A_RANK else row
        for row in log.rows
    ]
    file, told = log.file, log.file.progress
    if told is not None:
        steps = [replace(step, rank=rank) if step.rank is None else step for step in told.steps]
        file = replace(file, progress=replace(told, steps=tuple(steps)))
    return replace(log, file=file, rows=rows)


def describe_operations(digests: Iterable[RankDigest], shared: Shared) -> dict[int, OpDescription]:
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


# The digest of one dump, as ``triage collect --digest`` sends it.


def make_digest_file(reader: DumpReader, data: bytes, name: str) -> bytes:
    """The file of the digest of one plain dump.

    Raises :class:`ArtifactError` for what is to be sent as it is: no dump, one that cannot be
    read, and one that a digest would not make smaller.
    """
    if not is_dump(data[:4096], name):
        raise ArtifactError("no plain dump")
    reader.forget()
    digest = reader.dump(reader.decoder(), data, name)
    if not isinstance(digest, RankDigest):
        raise ArtifactError(digest.why if isinstance(digest, Refused) else "no dump")
    made = write_node_digest(name, len(data), digest, describe_operations([digest], reader.shared))
    read_node_digest(made)  # what the service would refuse is not sent
    if len(made) >= len(data):
        raise ArtifactError("its digest is no smaller")
    return made
