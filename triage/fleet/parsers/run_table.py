"""Runs as a plain table of our own, for every scheduler that has no reader.

::

    job_id,started_at,ended_at,ending,num_nodes,num_gpus,nodes,cluster,cause
    4711,2026-11-21T01:00:00Z,2026-11-21T03:14:15Z,failed,2,16,gpu[001-002],a,gpu_hbm

``job_id`` and ``started_at`` are needed, the others as far as they are known. ``nodes`` is a host
list, or names with blanks between them; ``ending`` a scheduler's state or one of completed,
unexpected, planned, running, unknown; ``cause`` a category, where somebody has found it.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from triage.domain.category import Category
from triage.fleet.domain.exposure import Ending, Run
from triage.fleet.domain.job_states import JobState, parse_job_state
from triage.fleet.parsers.rows import (
    MAX_GPUS,
    Columns,
    Options,
    Passed,
    Row,
    RowError,
    cluster_in,
    count_in,
    determine_ending,
    name_in,
    parse_both_times,
    parse_host_list,
    shorten_foreign_text,
)

_NEVER_STARTED: Final = Passed("jobs that never started")


class RunReader:
    """Claims a table that has ``job_id`` and ``started_at`` (or ``start``)."""

    name = "csv"

    def __init__(self, columns: Columns, options: Options) -> None:
        self.options = options
        first = columns.first
        self.job = first("job_id")
        self.start, self.end = first("started_at", "start"), first("ended_at", "end")
        self.ending = first("ending", "state")
        self.num_nodes, self.num_gpus = first("num_nodes"), first("num_gpus")
        self.nodes, self.cluster = first("nodes", "nodelist"), first("cluster")
        self.cause = first("cause", "category")

    @staticmethod
    def claims(columns: Columns, delimiter: str) -> bool:  # noqa: ARG004 - any will do
        """By the names in the header."""
        return "job_id" in columns and columns.first("started_at", "start") is not None

    def rows(self, fields: Sequence[str]) -> Iterator[Row]:
        """The run of a row. Raises :class:`RowError`."""

        def at(place: int | None) -> str:
            return "" if place is None else fields[place]

        job_id = name_in(at(self.job), "job_id")
        start, end = parse_both_times(
            at(self.start), at(self.end), self.options, "started_at", "ended_at"
        )
        state = _parse_ending(at(self.ending))
        if start is None or not state.started:
            yield _NEVER_STARTED
            return
        nodes = parse_host_list(at(self.nodes))
        yield Run(
            job_id=job_id,
            started_at=start,
            ended_at=end,
            ending=determine_ending(state, at(self.ending), end),
            num_nodes=len(nodes) or count_in(at(self.num_nodes), "num_nodes") or 0,
            num_gpus=count_in(at(self.num_gpus), "num_gpus", MAX_GPUS) or 0,
            nodes=nodes,
            cluster=cluster_in(at(self.cluster), self.options),
            cause=_parse_cause(at(self.cause)) or state.cause,
            source=self.name,
        )


def _parse_ending(text: str) -> JobState:
    if not text.strip():
        return JobState(Ending.UNKNOWN)
    state = parse_job_state(text)
    if state is None:
        raise RowError(f"ending {shorten_foreign_text(text)} is not known")
    return state


def _parse_cause(text: str) -> Category | None:
    text = text.strip()
    if not text:
        return None
    if text not in set(Category):
        raise RowError(f"cause {shorten_foreign_text(text)} is no category")
    return Category(text)
