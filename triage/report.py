"""``analyze(paths) -> Report``: the one brain behind command line, worker and notebook."""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from triage.domain.report import Answer, Refused, Verdict
from triage.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from triage.analysis.answer import Weighing
    from triage.analysis.explain import Explanation
    from triage.domain.job import Job
    from triage.domain.restart import Restart
    from triage.formats.gather import Paths
    from triage.parsers.extract.extract import Extract
    from triage.parsers.flight_recorder.dump_set import DumpSet
    from triage.parsers.logs.logset import LogSet
    from triage.render.data.perfetto import TraceFile
    from triage.render.pictures.alone import ReportPictures
    from triage.signatures.own.own_signatures import OwnSignatures

# New objects between two looks of the garbage collector: 700 are usual.
_ALLOCATIONS: Final = 200_000


@dataclass(frozen=True, slots=True)
class _Sources:
    """What a report was made from; the tables and the trace that go deeper rest on it."""

    weighed: "Weighing"
    dumps: "DumpSet"
    logs: "LogSet"
    refused: tuple[Refused, ...]


class Report:
    """An answer, as a notebook and a script want it.

    The tables are DataFrames: :mod:`triage.render.data.frames` and :mod:`triage.render.data.tables`
    say their columns. ``answer`` holds the plain values. A report without ``sources`` has no
    evidence, no lateness and no trace of its own.
    """

    def __init__(self, answer: Answer, sources: _Sources | None = None) -> None:
        self.answer = answer
        self.sources = sources

    def to_dict(self) -> dict[str, Any]:
        """Exactly what ``triage analyze --format json`` prints."""
        return self.answer.to_dict()

    @property
    def verdict(self) -> Verdict:
        """Kind, category, confidence, the sentence, and what to do."""
        return self.answer.verdict

    @property
    def restart(self) -> "Restart | None":
        """Whether to start the job again, and without which nodes; None of one that runs well."""
        return self.answer.restart

    @property
    def suspects(self) -> "pd.DataFrame":
        """Suspects, best first."""
        from triage.render.data import frames

        return frames.build_suspect_frame(self.answer)

    @property
    def evidence(self) -> "pd.DataFrame":
        """What was read out of each file, before any judgement, by file and line."""
        from triage.analysis.rows import list_rows
        from triage.render.data.tables import EVIDENCE, build_table

        read = self.sources
        if read is None:
            return build_table((), EVIDENCE)
        return build_table(
            list_rows(read.dumps, read.logs, read.refused, read.weighed.rows), EVIDENCE
        )

    @property
    def collectives(self) -> "pd.DataFrame":
        """One row per operation at the frontier."""
        from triage.render.data import frames

        return frames.build_collective_frame(self.answer)

    @property
    def ranks(self) -> "pd.DataFrame":
        """One row per expected rank: its state, and where it waits."""
        from triage.render.data import frames

        return frames.build_rank_frame(self.answer)

    @property
    def timeline(self) -> "pd.DataFrame":
        """The first error of each node beside the stop."""
        from triage.render.data import frames

        return frames.build_timeline_frame(self.answer)

    @property
    def coverage(self) -> "pd.DataFrame":
        """What was read and what was not."""
        from triage.render.data import frames

        return frames.build_coverage_frame(self.answer)

    @property
    def lateness(self) -> "pd.DataFrame":
        """The delay that each rank causes per operation, latest first.

        Empty where there are too few dumps or operations to tell.
        """
        from triage.analysis.answer import lateness_rows
        from triage.render.data.tables import LATENESS, build_table

        read = self.sources
        return build_table(lateness_rows(self.answer, read.weighed if read else None), LATENESS)

    @property
    def plot(self) -> "ReportPictures":
        """``ranks()``, ``waits()``, ``timeline()`` and ``progress()``, each an SVG document."""
        from triage.render.pictures.alone import ReportPictures

        return ReportPictures(self.answer)

    def to_perfetto(
        self,
        path: str | Path,
        *,
        ranks: Iterable[int] | None = None,
        last_s: float = 60.0,
        limit: int = 200_000,
    ) -> "TraceFile":
        """Write the last operations as a trace that Perfetto and chrome://tracing open.

        ``ranks`` are global (default: the suspects, and ranks that wait for them). Kept is
        what was issued in the ``last_s`` seconds before the last issue, and what never
        completed; of more than ``limit`` operations the newest. What comes back says what
        was left out; the trace itself says it too. The file is gzip where its name ends in
        ``.gz``. Raises :class:`UsageError` where there is nothing to write.
        """
        from triage.analysis.trace import build_trace
        from triage.render.data.perfetto import write

        view = self.sources.weighed.view if self.sources else None
        if view is None:
            raise UsageError("a trace needs flight-recorder dumps, and this report rests on none")
        return write(build_trace(view.case, self.answer, ranks, last_s, limit), Path(path))

    def _repr_html_(self) -> str:
        from triage.render.page import html

        return html.render_fragment(self.answer)

    def __repr__(self) -> str:
        verdict = self.answer.verdict
        return f"<Report {verdict.kind}: {verdict.summary}>"


def analyze(
    paths: "Paths",
    *,
    job: str | Path | None = None,
    at: datetime | None = None,
    progress: Callable[[int, int], None] | None = None,
    signatures: str | Path | None = None,
) -> Report:
    """Name the node, rank and part that stopped a job, from all that lies below ``paths``.

    Reads flight-recorder dumps, kernel logs and job logs, plain, compressed or in
    archives. ``job`` is a ``job.json`` (default: the one at the top of a folder
    given); ``at`` is when the job stopped (dumps of later attempts are set aside);
    ``progress`` is called with (files read, files in all); ``signatures`` is a file, or a folder
    of files, of signatures of your own.

    Raises :class:`UsageError` for a path that is not there and for faults of own signatures, and
    :class:`NothingToAnalyze` when neither a dump nor a line of a log can be used.
    """
    from triage.analysis.answer import build_answer, require_usable, weigh_incident
    from triage.formats.gather import gather

    with reduce_collections():
        inputs, dumps, logs, facts, notes = gather(paths, job, progress, _load_own(signatures))
        weighed = weigh_incident(dumps, logs, facts, at)
        require_usable(weighed, logs)
        answer = build_answer(weighed, dumps, logs, facts, inputs.refused, notes)
        answer = _with_next_step(answer, weighed)
    return Report(answer, _Sources(weighed, dumps, logs, tuple(inputs.refused)))


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


def build_report(
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
    return build_study(extracts, facts, refused, notes, at).report


def build_study(
    extracts: "Iterable[Extract]",
    facts: "Job",
    refused: Sequence[Refused] = (),
    notes: Sequence[str] = (),
    at: datetime | None = None,
    *,
    own_in_force: str | None = None,
) -> Study:
    """:func:`build_report` with the dated evidence beside it.

    ``own_in_force`` is the label of the own signatures in force (empty for none): the answer says
    whether logs were read with others. None leaves that out.
    """
    from triage.analysis.answer import (
        answer_of_nothing,
        build_answer,
        is_nothing_usable,
        weigh_incident,
    )
    from triage.analysis.coverage import read_otherwise
    from triage.domain.wire import format_iso_utc
    from triage.parsers.extract.extract import join
    from triage.parsers.files.job_file import fill_facts

    with reduce_collections():
        files = list(extracts)
        num_files = len(files)
        dumps, logs = join(files)
        del files  # of a large job only what they hold has room
        facts, found = fill_facts(facts, dumps.job_files)
        notes = [*notes, *found]
        if own_in_force is not None:
            notes += read_otherwise(logs, own_in_force)
        weighed = weigh_incident(dumps, logs, facts, at)
        answer = build_answer(weighed, dumps, logs, facts, refused, notes)
    if is_nothing_usable(weighed, logs):
        num_files += len(refused)
        answer = answer_of_nothing(answer, num_files, answer.coverage.unreadable, facts.starts)
    answer = _with_next_step(answer, weighed)
    dated = (
        DatedRow(
            one.artifact,
            one.line,
            one.signature,
            format_iso_utc(one.at),
            one.node,
            one.rank,
            one.gpu,
        )
        for one in weighed.rows
    )
    return Study(Report(answer), tuple(dated))


def _with_next_step(answer: Answer, weighed: "Weighing") -> Answer:
    """``answer`` with what to do now, which the lines that its cause rests on may tell."""
    from triage.analysis.restart.decide import stop_cause
    from triage.render.words.next_step import build_next_step

    step = build_next_step(answer, stop_cause(weighed.joined).signatures)
    return replace(answer, next_step=step)


def _load_own(signatures: str | Path | None) -> "OwnSignatures":
    from triage.signatures.own.own_signatures import NO_OWN

    if signatures is None:
        return NO_OWN
    from triage.signatures.own.check import own_from_path

    return own_from_path(signatures)


@contextmanager
def reduce_collections() -> Iterator[None]:
    """Have the garbage collector look seldom: of a hundred thousand ranks it went again and again
    through millions of objects, none of them in a circle, for a fifth of the time.
    """
    usual = gc.get_threshold()
    if not 0 < usual[0] < _ALLOCATIONS:  # switched off, or another answer is being made
        yield
        return
    gc.set_threshold(_ALLOCATIONS, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def explain(
    paths: "Paths",
    *,
    job: str | Path | None = None,
    at: datetime | None = None,
    progress: Callable[[int, int], None] | None = None,
    signatures: str | Path | None = None,
) -> "Explanation":
    """Why each suspect of :func:`analyze` stands where it stands; same arguments and errors."""
    from triage.analysis.explain import explain_evidence
    from triage.formats.gather import gather

    _, dumps, logs, facts, _ = gather(paths, job, progress, _load_own(signatures))
    return explain_evidence(dumps, logs, facts, at)


def read_rows(paths: "Paths", *, signatures: str | Path | None = None) -> Iterator[dict[str, Any]]:
    """What was read out of each file, one evidence row at a time, before any judgement."""
    from triage.analysis.dump_view import view_dumps
    from triage.analysis.rows import list_undated_rows
    from triage.formats.gather import gather

    inputs, dumps, logs, facts, _ = gather(paths, None, own=_load_own(signatures))
    view, _ = view_dumps(dumps, facts, None)
    case = view.case if view else None
    yield from list_undated_rows(dumps, logs, facts, inputs.refused, case)


def list_evidence_rows(extract: "Extract", facts: "Job") -> list[dict[str, Any]]:
    """The rows of one file, as :func:`read_rows` gives them; dated by this file alone."""
    from triage.analysis.rows import list_undated_rows
    from triage.parsers.extract.extract import join

    dumps, logs = join([extract])
    return list_undated_rows(dumps, logs, facts, (), None)
