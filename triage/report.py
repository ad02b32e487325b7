"""``analyze(paths) -> Report``: the one brain behind command line, worker and notebook."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from triage.domain.fleet import Job, job_from_dict
from triage.domain.report import Answer, Coverage, JobFacts, Refused
from triage.errors import NothingToAnalyze, UsageError
from triage.parsers.inputs import InputFile, Inputs, find_inputs

if TYPE_CHECKING:
    import pandas as pd

    from triage.analysis.case import Case
    from triage.parsers.flight_recorder.digest import RankDigest
    from triage.parsers.flight_recorder.read import DumpSet

__all__ = ["Report", "analyze", "read_rows"]

Paths = str | Path | Sequence[str | Path]
MAX_JOB_BYTES = 64 << 20
MAX_NOTES = 40
# Folders that hold dumps without naming a node.
PLAIN_FOLDERS = frozenset({"fr", "dumps", "dump", "traces", "logs", "flight_recorder", "nodes", ""})


class Report:
    """An answer, as a notebook and a script want it.

    ``suspects``, ``ranks`` and ``collectives`` are DataFrames (see
    :mod:`triage.render.frames` for their columns); ``answer`` holds the plain values.
    """

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def to_dict(self) -> dict[str, Any]:
        """Exactly what ``triage analyze --format json`` prints."""
        return self.answer.to_dict()

    @property
    def suspects(self) -> "pd.DataFrame":
        """Suspects, best first."""
        from triage.render import frames

        return frames.suspects(self.answer)

    @property
    def ranks(self) -> "pd.DataFrame":
        """One row per expected rank: its state, and where it waits."""
        from triage.render import frames

        return frames.ranks(self.answer)

    @property
    def collectives(self) -> "pd.DataFrame":
        """One row per operation at the frontier."""
        from triage.render import frames

        return frames.collectives(self.answer)

    def _repr_html_(self) -> str:
        from triage.render import html

        return html.render_fragment(self.answer)

    def __repr__(self) -> str:
        verdict = self.answer.verdict
        return f"<Report {verdict.kind}: {verdict.summary}>"


def analyze(
    paths: Paths,
    *,
    job: str | Path | None = None,
    at: datetime | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Name the culprit among the ranks that left the dumps below ``paths``.

    ``job`` is a ``job.json`` (default: the one at the top of a folder given);
    ``at`` sets dumps of later attempts aside; ``progress`` is called with (files
    read, files in all).

    Raises :class:`UsageError` for a path that is not there and
    :class:`NothingToAnalyze` when not one dump could be read.
    """
    from triage.parsers.flight_recorder.read import read_dumps

    inputs = find_inputs(as_paths(paths))
    facts, job_notes, job_file = load_job(inputs, None if job is None else Path(job))
    files = [file for file in inputs.files if file.path != job_file]
    dumps = read_dumps(files, progress=progress)
    if not dumps.digests:
        raise NothingToAnalyze(why_nothing(inputs, dumps, files))
    if dumps.job_files and job_file is None:
        facts, job_notes = job_of_archive(dumps)
    return Report(answer_from(dumps, facts, inputs.refused, job_notes, at))


def as_paths(paths: Paths) -> list[Path]:
    if isinstance(paths, str | Path):
        return [Path(paths)]
    return [Path(path) for path in paths]


def why_nothing(inputs: Inputs, dumps: "DumpSet", files: Sequence[InputFile]) -> str:
    refused = [*dumps.refused, *inputs.refused]
    if refused:
        first = refused[0]
        return (
            f"not one of {len(files) + len(inputs.refused)} files could be read as a"
            f" flight-recorder dump; {first.artifact}: {first.why}"
        )
    if not files:
        return (
            "the folder is empty: point at the dumps that PyTorch wrote"
            " (comm_lib_trace_rank_* or nccl_trace_rank_*)"
        )
    return (
        f"no flight-recorder dump among {len(files)} files: point at the files that PyTorch wrote"
        " (comm_lib_trace_rank_* or nccl_trace_rank_*)"
    )


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
    found = [file for file in inputs.files if file.path.name == "job.json"]
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


def job_of_archive(dumps: "DumpSet") -> tuple[Job, list[str]]:
    """The job's facts from the ``job.json`` nearest to the top of an archive."""
    first = min(dumps.job_files, key=lambda one: (one.artifact.count("/"), one.artifact))
    facts, problem = parse_job(first.data[:MAX_JOB_BYTES])
    return facts, [f"{first.artifact} {problem}; it is not used"] if problem else [*facts.problems]


def parse_job(raw: bytes) -> tuple[Job, str | None]:
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        return Job(), f"is not valid JSON ({error})"
    if not isinstance(value, dict):
        return Job(), "is no JSON object"
    return job_from_dict(value), None


def answer_from(
    dumps: "DumpSet",
    facts: Job,
    refused: Sequence[Refused],
    notes: Sequence[str],
    at: datetime | None = None,
) -> Answer:
    """The answer that follows from digests; raw dumps are not needed any more."""
    from triage.analysis import picture
    from triage.analysis.case import build_case
    from triage.analysis.consistency import set_apart
    from triage.analysis.groups import resolve_groups
    from triage.analysis.ranking import decide
    from triage.analysis.selection import select
    from triage.analysis.snapshot import build_snapshot
    from triage.analysis.waits import wait_graph

    digests, late = before(dumps.digests, at)
    selection = select(digests)
    if not selection.digests:
        why = selection.set_aside[0] if selection.set_aside else late[0]
        raise NothingToAnalyze(f"no dump can be used; {why.artifact}: {why.why}")
    membership = resolve_groups(selection.digests, selection.ranks, facts.world_size)
    node_of = node_map(selection.digests, selection.ranks, facts)
    snapshot = build_snapshot(
        selection.digests, selection.ranks, membership, dumps.operations, facts, node_of
    )
    moving = set_apart(snapshot)
    case = build_case(snapshot, wait_graph(snapshot), moving=moving)
    expected = len(snapshot.world)
    decision = decide(
        case,
        coverage=len(snapshot.digests) / max(expected, 1),
        node_of=node_of,
        gpu_of=facts.gpu_of,
        failed=facts.exit_code not in (None, 0) or facts.failed_at is not None,
    )
    nodes = {node for rank in snapshot.world if (node := node_of(rank)) is not None}
    partial = [Refused(d.artifact, d.partial) for d in selection.digests if d.partial is not None]
    return Answer(
        job=JobFacts(
            facts.job_id,
            membership.world_size or facts.world_size,
            len(nodes) or len(facts.nodes) or None,
        ),
        verdict=decision.verdict,
        suspects=decision.suspects,
        collectives=picture.collectives_at_frontier(case, decision.heard),
        victims=decision.victims,
        coverage=Coverage(
            ranks_expected=expected,
            dumps_read=len(selection.digests),
            ranks_without_dump=tuple(r for r in snapshot.world if r not in snapshot.index_of),
            partial=tuple(partial),
            unreadable=tuple(
                sorted(
                    {*dumps.refused, *refused, *selection.set_aside, *late},
                    key=lambda one: (one.artifact, one.why),
                )
            ),
            notes=coverage_notes(case, [*notes, *selection.notes], dumps, selection.digests),
        ),
        ranks=picture.rank_states(case, decision.heard),
        waits=picture.condense(case, decision.heard),
    )


def before(
    digests: "Sequence[RankDigest]", at: datetime | None
) -> "tuple[list[RankDigest], list[Refused]]":
    """Dumps whose record begins no later than ``at``; the others are set aside."""
    if at is None:
        return list(digests), []
    limit = int(at.timestamp() * 1e9)
    kept = [d for d in digests if d.first_created_ns is None or d.first_created_ns <= limit]
    late = [
        Refused(d.artifact, "its record begins after the time given with --at")
        for d in digests
        if not (d.first_created_ns is None or d.first_created_ns <= limit)
    ]
    return kept, late


def node_map(
    digests: "Sequence[RankDigest]", ranks: Sequence[int], facts: Job
) -> Callable[[int], str | None]:
    """Rank -> node: from job.json, else from folders ``nodes/<node>/`` or hosts in file names,
    else from one folder per node.
    """
    from triage.parsers.flight_recorder.naming import node_in_name

    found: dict[int, str] = {}
    folders: dict[int, str] = {}
    for digest, rank in zip(digests, ranks, strict=True):
        node = node_in_name(digest.artifact)
        if node is not None:
            found[rank] = node
        parent = digest.artifact.rpartition("/")[0].rpartition("/")[2]
        if parent.lower() not in PLAIN_FOLDERS:
            folders[rank] = parent
    if not found and len(set(folders.values())) > 1 and len(folders) == len(digests):
        found = folders

    def node_of(rank: int) -> str | None:
        return facts.node_of(rank) or found.get(rank)

    return node_of


def coverage_notes(
    case: "Case", notes: Sequence[str], dumps: "DumpSet", digests: "Sequence[RankDigest]"
) -> tuple[str, ...]:
    snapshot = case.snapshot
    facts = snapshot.job
    found = [*notes, *snapshot.notes]
    world = snapshot.membership.world_size
    if facts.world_size and world and facts.world_size != world:
        found.append(
            f"job.json says {facts.world_size} ranks, the dumps' default group has {world}:"
            " the dumps are believed"
        )
    seats = len(facts.nodes) * (facts.gpus_per_node or 0)
    if seats and world and seats < world:
        found.append(
            f"job.json places {seats} ranks ({len(facts.nodes)} nodes with {facts.gpus_per_node}"
            f" GPUs), the job has {world}: the nodes of the others are unknown"
        )
    if snapshot.node_of(int(snapshot.ranks[0])) is None:
        found.append("nothing says which rank is on which node: give a job.json with the nodes")
    found += version_notes(digests)
    odd: dict[str, list[str]] = {}
    for digest in digests:
        for note in digest.notes:
            odd.setdefault(note, []).append(digest.artifact)
    for note, artifacts in sorted(odd.items()):
        where = artifacts[0] if len(artifacts) == 1 else f"{len(artifacts)} dumps"
        found.append(f"{where}: {note}")
    if dumps.foreign:
        first = sorted(dumps.foreign)[0]
        found.append(f"{len(dumps.foreign)} files are no flight-recorder dumps ({first} ...)")
    if case.in_flight:
        found.append("unfinished operations were issued just before the dumps: not taken as stuck")
    if len(found) > MAX_NOTES:
        found[MAX_NOTES:] = [f"and {len(found) - MAX_NOTES} more notes"]
    return tuple(dict.fromkeys(found))


def version_notes(digests: "Sequence[RankDigest]") -> list[str]:
    versions: dict[str, int] = {}
    for digest in digests:
        text = digest.version or "older than 1.0"
        versions[text] = versions.get(text, 0) + 1
    if len(versions) < 2:
        return []
    shown = ", ".join(f"{version} ({count} dumps)" for version, count in sorted(versions.items()))
    return [f"the dumps are of different formats: {shown}; each was read by its own"]


def read_rows(paths: Paths) -> Iterator[dict[str, Any]]:
    """What was read out of each file, one evidence row at a time, before any judgement."""
    from triage.parsers.flight_recorder.read import read_dumps

    inputs = find_inputs(as_paths(paths))
    dumps = read_dumps(inputs.files)
    if not dumps.digests:
        raise NothingToAnalyze(why_nothing(inputs, dumps, inputs.files))
    rows = [dump_row(digest) for digest in dumps.digests]
    rows += [refused_row(one) for one in (*dumps.refused, *inputs.refused)]
    yield from sorted(rows, key=lambda row: str(row["artifact"]))


def dump_row(digest: "RankDigest") -> dict[str, Any]:
    """A dump as one row: its rank, groups, first and last sequence numbers, what was refused."""
    from triage.analysis.case import timestamp
    from triage.domain.report import iso_utc
    from triage.parsers.flight_recorder.naming import node_in_name
    from triage.parsers.flight_recorder.reduce import S_FIRST, S_LAST, S_PENDING

    def number(value: int) -> int | None:
        return None if value < 0 else int(value)

    groups = [
        {
            "pg": name,
            "desc": desc,
            "first_seq_id": number(stream[S_FIRST]),
            "last_seq_id": number(stream[S_LAST]),
            "oldest_unfinished_seq_id": number(stream[S_PENDING]),
        }
        for (name, desc), stream in zip(digest.stream_names, digest.streams.tolist(), strict=True)
    ]
    text = f"flight-recorder dump, {digest.num_entries} entries, {digest.pending_total} unfinished"
    return {
        "artifact": digest.artifact,
        "line": None,
        "at": iso_utc(timestamp(digest.last_created_ns)),
        "clock": "wall",
        "node": node_in_name(digest.artifact),
        "rank": digest.rank if digest.rank >= 0 else None,
        "kind": "fr",
        "code": None,
        "gpu": None,
        "category": None,
        "role": "noise",
        "signature": "fr.dump",
        "text": text,
        "count": 1,
        "version": digest.version,
        "groups": groups,
        "partial": digest.partial,
        "notes": list(digest.notes),
    }


def refused_row(refused: Refused) -> dict[str, Any]:
    return {
        "artifact": refused.artifact,
        "line": None,
        "at": None,
        "clock": "none",
        "node": None,
        "rank": None,
        "kind": "fr",
        "code": None,
        "gpu": None,
        "category": None,
        "role": "noise",
        "signature": "fr.refused",
        "text": refused.why,
        "count": 1,
    }
