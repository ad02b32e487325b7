"""Slurm's accounting of jobs, as ``sacct --parsable2`` prints it.

::

    JobIDRaw|Cluster|State|Start|End|NNodes|AllocTRES|NodeList
    4711|a|NODE_FAIL|2026-11-21T01:00:00|2026-11-21T03:14:15|16|cpu=1,gres/gpu=128|gpu[001-016]
    4711.batch|a|CANCELLED|2026-11-21T01:00:00|2026-11-21T03:14:20|1||gpu001

Columns may stand in any order. Of an array ``JobIDRaw`` is the number that the job itself knows;
``JobID`` (``4700_3``) is taken where it is all there is. With ``--duplicates`` each attempt of a
requeued job is a row. Slurm prints times without their zone unless ``SLURM_TIME_FORMAT`` says so.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from triage.domain.hosts import expand
from triage.domain.patterns import compile_re
from triage.fleet.domain.exposure import Run
from triage.fleet.domain.job_states import parse_job_state
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
    shorten_foreign_text,
)

_STEPS: Final = Passed("steps of jobs")
_NEVER_STARTED: Final = Passed("jobs that never started")
# gres/gpu=16; gres/gpu:h100=16 repeats it by type.
GPUS: Final = compile_re(r"(?:^|,)gres/gpu=(\d{1,8})(?:,|$)", re.ASCII)
_TYPED_GPUS: Final = compile_re(r"(?:^|,)gres/gpu:[^=,]{1,80}=(\d{1,8})(?=,|$)", re.ASCII)
_NO_NODES: Final = ("", "None assigned", "none", "(null)")
_MOST_EXPANDED: Final = 256


class SacctReader:
    """Claims a table with bars that has a job, a state, a start and an end."""

    name = "sacct"

    def __init__(self, columns: Columns, options: Options) -> None:
        self.options = options
        first = columns.first
        self.job, self.cluster = first("JobIDRaw", "JobID"), first("Cluster")
        self.state, self.start, self.end = first("State"), first("Start"), first("End")
        self.num_nodes, self.nodes = first("NNodes", "AllocNodes"), first("NodeList")
        self.tres = first("AllocTRES", "TRES")
        self.expanded: dict[str, tuple[str, ...]] = {}

    @staticmethod
    def claims(columns: Columns, delimiter: str) -> bool:
        """By the names in the header."""
        has_job = "JobIDRaw" in columns or "JobID" in columns
        return delimiter == "|" and has_job and columns.has_all(("State", "Start", "End"))

    def rows(self, fields: Sequence[str]) -> Iterator[Row]:
        """The run of a row. Raises :class:`RowError`."""

        def at(place: int | None) -> str:
            return "" if place is None else fields[place]

        job_id = name_in(at(self.job), "the job")
        if "." in job_id:
            yield _STEPS
            return
        state = parse_job_state(at(self.state))
        if state is None:
            raise RowError(f"the state {shorten_foreign_text(at(self.state))} is not known")
        start, end = parse_both_times(at(self.start), at(self.end), self.options, "Start", "End")
        nodes = self.nodes_in(at(self.nodes))
        if not state.started or start is None or (start == end and not nodes):
            yield _NEVER_STARTED
            return
        yield Run(
            job_id=job_id,
            started_at=start,
            ended_at=end,
            ending=determine_ending(state, at(self.state), end),
            num_nodes=len(nodes) or count_in(at(self.num_nodes), "NNodes") or 0,
            num_gpus=_count_gpus(at(self.tres)),
            nodes=nodes,
            cluster=cluster_in(at(self.cluster), self.options),
            cause=state.cause,
            source=self.name,
        )

    def nodes_in(self, text: str) -> tuple[str, ...]:
        """The names of a host list. Raises :class:`RowError`."""
        text = text.strip()
        if text in _NO_NODES:
            return ()
        # Jobs of a fleet run on the same nodes again and again.
        found = self.expanded.get(text)
        if found is None:
            if len(self.expanded) >= _MOST_EXPANDED:
                self.expanded.clear()
            try:
                found = tuple(name_in(name, "a node") for name in expand(text))
            except RowError:
                raise
            except ValueError as error:
                raise RowError(f"NodeList: {error}") from error
            self.expanded[text] = found
        return found


def _count_gpus(tres: str) -> int:
    """How many GPUs were allocated; by type where Slurm counts them by type alone."""
    found = GPUS.search(tres)
    number = int(found[1]) if found else sum(int(n) for n in _TYPED_GPUS.findall(tres))
    return min(number, MAX_GPUS)
