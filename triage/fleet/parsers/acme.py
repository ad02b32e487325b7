"""A job table of AcmeTrace, the public trace of two clusters of Shanghai AI Laboratory.

::

    job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,...
    5778432,u5907,1,8,128,Other,FAILED,2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,...

``trace_seren.csv`` and ``trace_kalos.csv`` of InternLM/AcmeTrace (Hu et al., "Characterization of
Large Language Model Development in the Datacenter", NSDI 2024); the second has ``fail_time`` and
``stop_time`` as well. It names no nodes. Its authors count TIMEOUT as failed; here it is planned,
as everywhere. Jobs without a GPU are left out: they are no exposure of what we ask about.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from triage.fleet.domain.exposure import Run
from triage.fleet.domain.job_states import state_of
from triage.fleet.parsers.columns import Columns
from triage.fleet.parsers.rows import (
    MAX_GPUS,
    Options,
    Passed,
    Row,
    RowError,
    both_times,
    count_in,
    how_it_ended,
    name_in,
    short,
)

__all__ = ["AcmeReader"]

WANTED: Final = ("job_id", "node_num", "gpu_num", "state", "start_time", "end_time")
WITHOUT_GPU: Final = Passed("jobs without a GPU")
NEVER_STARTED: Final = Passed("jobs that never started")


class AcmeReader:
    """Claims a table with its names of columns, of which ``gpu_num`` is nobody else's."""

    name = "acme"

    def __init__(self, columns: Columns, options: Options) -> None:
        self.options = options
        self.places = [columns.first(name) or 0 for name in WANTED]

    @staticmethod
    def claims(columns: Columns, delimiter: str) -> bool:
        """By the names in the header."""
        return delimiter != "|" and columns.has_all(WANTED)

    def rows(self, fields: Sequence[str]) -> Iterator[Row]:
        """The run of a row. Raises :class:`RowError`."""
        job, nodes, gpus, word, start, end = (fields[place] for place in self.places)
        num_gpus = count_in(gpus, "gpu_num", MAX_GPUS) or 0
        if num_gpus == 0:
            yield WITHOUT_GPU
            return
        state = state_of(word)
        if state is None:
            raise RowError(f"the state {short(word)} is not known")
        started_at, ended_at = both_times(start, end, self.options, "start_time", "end_time")
        if started_at is None or not state.started:
            yield NEVER_STARTED
            return
        yield Run(
            job_id=name_in(job, "job_id"),
            started_at=started_at,
            ended_at=ended_at,
            ending=how_it_ended(state, word, ended_at),
            num_nodes=count_in(nodes, "node_num") or 0,
            num_gpus=num_gpus,
            cluster=self.options.cluster,
            cause=state.cause,
            source=self.name,
        )
