"""Gather: everything that lies below some paths, read before any judgement."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from triage.domain.job import Job
from triage.errors import NothingToAnalyze
from triage.formats.dumps import read_dumps
from triage.formats.streams import read_logs
from triage.parsers.files.compression import MAGIC_BYTES, detect_compression
from triage.parsers.files.inputs import InputFile, Inputs, find_inputs
from triage.parsers.files.job_file import load_job, read_job_of_archive
from triage.parsers.flight_recorder.dump_set import DumpSet
from triage.parsers.flight_recorder.jit import MOST_PLAIN_BYTES, prefer_python_for_little
from triage.parsers.logs.catalogue import build_catalogue
from triage.parsers.logs.join import MOST_COUNTED_BYTES
from triage.parsers.logs.logset import LogSet
from triage.signatures.own.own_signatures import NO_OWN, OwnSignatures

# Texts of logs and dumps pack to about a tenth.
_PACKED_TIMES: Final = 10

Paths = str | Path | Sequence[str | Path]


def gather(
    paths: Paths,
    job: str | Path | None,
    progress: Callable[[int, int], None] | None = None,
    own: OwnSignatures = NO_OWN,
) -> tuple[Inputs, DumpSet, LogSet, Job, list[str]]:
    """Everything that is read before any judgement, with what is known of the job."""
    listed = [paths] if isinstance(paths, str | Path) else paths
    inputs = find_inputs([Path(path) for path in listed])
    facts, notes, job_file = load_job(inputs, None if job is None else Path(job))
    files = [file for file in inputs.files if file.path != job_file]
    with prefer_python_for_little(_estimate_unpacked_size(files) <= MOST_PLAIN_BYTES):
        dumps, logs = _read_each(files, inputs, progress, own)
    if dumps.job_files and job_file is None:
        facts, notes = read_job_of_archive(dumps.job_files)
    return inputs, dumps, logs, facts, notes


def _estimate_unpacked_size(files: Sequence[InputFile]) -> int:
    """How many bytes are to be read, about: packed ones are several."""
    size = sum(file.size_bytes for file in files)
    if size > MOST_PLAIN_BYTES:
        return size
    return sum(file.size_bytes * (_PACKED_TIMES if _is_packed(file) else 1) for file in files)


def _is_packed(file: InputFile) -> bool:
    try:
        with file.path.open("rb") as stream:
            return detect_compression(stream.read(MAGIC_BYTES)) is not None
    except OSError:
        return False


def _read_each(
    files: Sequence[InputFile],
    inputs: Inputs,
    progress: Callable[[int, int], None] | None,
    own: OwnSignatures,
) -> tuple[DumpSet, LogSet]:
    """Everything that can be read; raises :class:`NothingToAnalyze` when that is nothing."""
    dumps = read_dumps(files, progress=progress)
    known = {one.artifact for one in dumps.digests} | {one.artifact for one in dumps.refused}
    size_bytes = sum(file.size_bytes for file in files if file.artifact not in known)
    if dumps.foreign:
        logs = read_logs(
            files,
            frozenset(dumps.foreign),
            templates=size_bytes <= MOST_COUNTED_BYTES,
            catalogue=build_catalogue(own),
        )
    else:  # the catalogue alone takes half a second to make
        logs = LogSet()
    if not dumps.digests and not any(file.lines for file in logs.files):
        raise NothingToAnalyze(_explain_nothing_found(inputs, dumps, logs, files))
    return dumps, logs


def _explain_nothing_found(
    inputs: Inputs, dumps: DumpSet, logs: LogSet, files: Sequence[InputFile]
) -> str:
    refused = sorted([*dumps.refused, *logs.refused, *inputs.refused], key=lambda r: r.artifact)
    wanted = (
        "point at the flight-recorder dumps that PyTorch wrote (comm_lib_trace_rank_* or"
        " nccl_trace_rank_*), at kernel logs or at job logs"
    )
    if refused:
        first = refused[0]
        return (
            f"not one of {len(files) + len(inputs.refused)} files could be read as a"
            f" flight-recorder dump or a log; {first.artifact}: {first.why}"
        )
    if not files:
        return f"the folder is empty: {wanted}"
    return f"neither a flight-recorder dump nor a line of a log in {len(files)} files: {wanted}"
