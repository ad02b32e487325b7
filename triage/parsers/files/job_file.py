"""``job.json``: what is known of the job, from beside the artifacts or out of an archive."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

import orjson

from triage.domain.job import Job, make_job
from triage.errors import UsageError
from triage.parsers.files.inputs import Inputs

MAX_JOB_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class JobFile:
    """A ``job.json`` found inside an archive."""

    artifact: str
    data: bytes


def is_job_file(artifact: str) -> bool:
    """Whether a name is ``job.json``: such a file holds facts of the job and no evidence."""
    return PurePosixPath(artifact).name == "job.json"


def load_job(inputs: Inputs, given: Path | None) -> tuple[Job, list[str], Path | None]:
    """The job's facts from the file given, else from a ``job.json`` nearest to the top."""
    if given is not None:
        try:
            raw = given.read_bytes()
        except OSError as error:
            raise UsageError(f"--job {given} cannot be read: {error.strerror}") from error
        facts, problem = parse_job(raw)
        if problem:
            raise UsageError(f"--job {given} {problem}")
        return facts, list(facts.problems), given.absolute()
    found = [file for file in inputs.files if is_job_file(file.path.name)]
    if not found:
        return Job(), [], None
    first = min(found, key=lambda file: (file.artifact.count("/"), file.artifact))
    if first.size_bytes > MAX_JOB_BYTES:
        return (
            Job(),
            [f"{first.artifact} is too large to be a job.json and is not used"],
            first.path,
        )
    try:
        facts, problem = parse_job(first.path.read_bytes())
    except OSError as error:
        return Job(), [f"{first.artifact} cannot be read: {error.strerror}"], first.path
    notes = [f"{first.artifact} {problem}; it is not used"] if problem else list(facts.problems)
    if len(found) > 1:
        notes.append(f"{len(found)} files are called job.json; {first.artifact} is used")
    return facts, notes, first.path


def read_job_of_archive(files: Sequence[JobFile]) -> tuple[Job, list[str]]:
    """The job's facts from the ``job.json`` nearest to the top of an archive."""
    first = min(files, key=lambda one: (one.artifact.count("/"), one.artifact))
    facts, problem = parse_job(first.data[:MAX_JOB_BYTES])
    return facts, [f"{first.artifact} {problem}; it is not used"] if problem else [*facts.problems]


def fill_facts(facts: Job, files: Sequence[JobFile]) -> tuple[Job, list[str]]:
    """``facts`` with what they lack taken from the ``job.json`` nearest to the top, and notes."""
    if not files:
        return facts, []
    found, notes = read_job_of_archive(files)
    lacking = {
        one.name: getattr(found, one.name)
        for one in fields(Job)
        if one.init and getattr(facts, one.name) in (None, (), {})
    }
    return replace(facts, **lacking), notes


def parse_job(raw: bytes) -> tuple[Job, str | None]:
    """The facts in the bytes of a ``job.json``, and what is wrong with them, if anything."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        return Job(), f"is not valid JSON ({error})"
    if not isinstance(value, dict):
        return Job(), "is no JSON object"
    return make_job(_rename_fields(value)), None


# How launchers of others call what :class:`Job` holds, where they write a file of this name.
_OTHER_NAMES: Final = {
    "hosts": "nodes",
    "node_list": "nodes",
    "hostnames": "nodes",
    "gpus_per_host": "gpus_per_node",
    "started": "started_at",
    "start": "started_at",
    "exit_status": "exit_code",
    "end": "failed_at",
    "ended": "failed_at",
    "ended_at": "failed_at",
}
_FAILED: Final = frozenset(
    {"failed", "error", "crashed", "aborted", "node_fail", "out_of_memory", "killed", "timeout"}
)


def _rename_fields(value: dict[str, Any]) -> dict[str, Any]:
    """The object with our names for the fields that it gives under another one alone. When it
    ended is when it failed only where it says that it did.
    """
    others = {
        own: value[other]
        for other, own in _OTHER_NAMES.items()
        if other in value and value.get(own) is None
    }
    named = {**value, **others}
    state = str(value.get("state") or value.get("status") or "").lower()
    if state not in _FAILED and named.get("exit_code") in (0, None):
        named["failed_at"] = value.get("failed_at")
    return named
