"""``analyze(paths) -> Report``: the one brain behind command line, worker and notebook."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triage.domain.report import Answer, Refused
from triage.errors import NothingToAnalyze
from triage.parsers.inputs import InputFile, Inputs, find_inputs

if TYPE_CHECKING:
    import pandas as pd

    from triage.analysis.case import Case
    from triage.analysis.explain import Explanation
    from triage.domain.evidence import Evidence
    from triage.domain.fleet import Job
    from triage.parsers.extract import Extract
    from triage.parsers.flight_recorder.digest import RankDigest
    from triage.parsers.flight_recorder.read import DumpSet
    from triage.parsers.logs.logset import LogSet

__all__ = [
    "DatedRow", "Report", "Study", "analyze", "evidence_rows", "explain", "read_rows",
    "report_of", "study_of",
]  # fmt: skip

Paths = str | Path | Sequence[str | Path]


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
    """Name the node, rank and part that stopped a job, from all that lies below ``paths``.

    Reads flight-recorder dumps, kernel logs and job logs, plain, compressed or in
    archives. ``job`` is a ``job.json`` (default: the one at the top of a folder
    given); ``at`` is when the job stopped (dumps of later attempts are set aside);
    ``progress`` is called with (files read, files in all).

    Raises :class:`UsageError` for a path that is not there and
    :class:`NothingToAnalyze` when neither a dump nor a line of a log could be read.
    """
    from triage.analysis.answer import answer_from

    inputs, dumps, logs, facts, notes = gather(paths, job, progress)
    return Report(answer_from(dumps, logs, facts, inputs.refused, notes, at))


@dataclass(frozen=True, slots=True)
class DatedRow:
    """Where and when a row of evidence is, seen beside all others of its incident.

    ``at`` is RFC 3339 in UTC, None where no clock could be placed. One line may give several
    rows of one signature.
    """

    artifact: str
    line: int | None
    signature: str
    at: str | None
    node: str | None
    rank: int | None
    gpu: str | None


@dataclass(frozen=True, slots=True)
class Study:
    """A report, and the evidence as it is dated and placed in it.

    Of a flood of rows that only follow, a part is weighed, and only that part is in ``dated``.
    """

    report: Report
    dated: tuple[DatedRow, ...]


def report_of(
    extracts: "Iterable[Extract]",
    facts: "Job",
    refused: Sequence[Refused] = (),
    notes: Sequence[str] = (),
    at: datetime | None = None,
) -> Report:
    """The report of an incident whose files were read before, one by one.

    The same as :func:`analyze` over the files. ``facts`` are what is known of the job; what
    they lack is taken from a ``job.json`` among the extracts. ``refused`` are files that gave no
    extract. With nothing usable the report says so: it is inconclusive, and nothing is raised.
    """
    return study_of(extracts, facts, refused, notes, at).report


def study_of(
    extracts: "Iterable[Extract]",
    facts: "Job",
    refused: Sequence[Refused] = (),
    notes: Sequence[str] = (),
    at: datetime | None = None,
) -> Study:
    """:func:`report_of` with the dated evidence beside it."""
    from triage.analysis.answer import answer_of, unused_of, weigh_up
    from triage.analysis.nothing import answer_of_nothing
    from triage.parsers.extract import join
    from triage.parsers.job_file import filled

    extracts = list(extracts)
    dumps, logs = join(extracts)
    facts, found = filled(facts, dumps.job_files)
    notes = [*notes, *found]
    try:
        weighed = weigh_up(dumps, logs, facts, at)
    except NothingToAnalyze:  # there are dumps, and none can be used; logs may still tell
        unused = unused_of(dumps, at)
        dumps = replace(dumps, digests=[], refused=[*dumps.refused, *unused])
        weighed = weigh_up(dumps, logs, facts, at)
    answer = answer_of(weighed, dumps, logs, facts, refused, notes)
    if not dumps.digests and not any(file.lines for file in logs.files):
        answer = answer_of_nothing(answer, len(extracts) + len(refused), answer.coverage.unreadable)
    return Study(Report(answer), tuple(dated_row(row) for row in weighed.rows))


def dated_row(row: "Evidence") -> DatedRow:
    from triage.domain.report import iso_utc

    return DatedRow(
        row.artifact, row.line, row.signature, iso_utc(row.at), row.node, row.rank, row.gpu
    )


def explain(
    paths: Paths,
    *,
    job: str | Path | None = None,
    at: datetime | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> "Explanation":
    """Why each suspect of :func:`analyze` stands where it stands; same arguments and errors."""
    from triage.analysis.explain import explain_from

    _, dumps, logs, facts, _ = gather(paths, job, progress)
    return explain_from(dumps, logs, facts, at)


def gather(
    paths: Paths,
    job: str | Path | None,
    progress: Callable[[int, int], None] | None = None,
) -> "tuple[Inputs, DumpSet, LogSet, Job, list[str]]":
    """Everything that is read before any judgement, with what is known of the job."""
    from triage.parsers.job_file import job_of_archive, load_job

    inputs = find_inputs(as_paths(paths))
    facts, notes, job_file = load_job(inputs, None if job is None else Path(job))
    files = [file for file in inputs.files if file.path != job_file]
    dumps, logs = read_all(files, inputs, progress)
    if dumps.job_files and job_file is None:
        facts, notes = job_of_archive(dumps.job_files)
    return inputs, dumps, logs, facts, notes


def as_paths(paths: Paths) -> list[Path]:
    if isinstance(paths, str | Path):
        return [Path(paths)]
    return [Path(path) for path in paths]


def read_all(
    files: Sequence[InputFile],
    inputs: Inputs,
    progress: Callable[[int, int], None] | None = None,
) -> "tuple[DumpSet, LogSet]":
    """Everything that can be read; raises :class:`NothingToAnalyze` when that is nothing."""
    from triage.parsers.flight_recorder.read import read_dumps
    from triage.parsers.logs.join import MOST_COUNTED_BYTES
    from triage.parsers.logs.read import read_logs

    dumps = read_dumps(files, progress=progress)
    known = {one.artifact for one in dumps.digests} | {one.artifact for one in dumps.refused}
    size_bytes = sum(file.size_bytes for file in files if file.artifact not in known)
    logs = read_logs(files, frozenset(dumps.foreign), templates=size_bytes <= MOST_COUNTED_BYTES)
    if not dumps.digests and not any(file.lines for file in logs.files):
        raise NothingToAnalyze(why_nothing(inputs, dumps, logs, files))
    return dumps, logs


def why_nothing(
    inputs: Inputs, dumps: "DumpSet", logs: "LogSet", files: Sequence[InputFile]
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


def read_rows(paths: Paths) -> Iterator[dict[str, Any]]:
    """What was read out of each file, one evidence row at a time, before any judgement."""
    from triage.analysis.answer import look_at

    inputs, dumps, logs, facts, _ = gather(paths, None)
    view = look_at(dumps, facts, None)
    yield from rows_of(dumps, logs, facts, inputs.refused, view.case if view else None)


def evidence_rows(extract: "Extract", facts: "Job") -> list[dict[str, Any]]:
    """The rows of one file, as :func:`read_rows` gives them; dated by this file alone."""
    from triage.parsers.extract import join

    dumps, logs = join([extract])
    return rows_of(dumps, logs, facts, (), None)


def rows_of(
    dumps: "DumpSet",
    logs: "LogSet",
    facts: "Job",
    refused: Sequence[Refused],
    case: "Case | None",
) -> list[dict[str, Any]]:
    from triage.analysis.on_one_clock import on_one_clock

    dated = on_one_clock(logs, case, facts, None)
    rows = [dump_row(digest) for digest in dumps.digests]
    rows += [refused_row(one) for one in (*dumps.refused, *logs.refused, *refused)]
    rows += [one.to_row() for one in dated.evidence]
    return sorted(rows, key=lambda row: (str(row["artifact"]), row["line"] or 0))


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
