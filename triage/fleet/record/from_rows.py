"""A record out of rows, as the database would make it of them: each run, outage and node once."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from io import BytesIO
from itertools import count, islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from triage.domain.category import Category
from triage.errors import UsageError
from triage.fleet.domain.exposure import (
    FACTS,
    Ending,
    NodeFacts,
    NodeRepair,
    Outage,
    PartSeen,
    Run,
    complete_fields,
    describe_contradictions,
    is_contradiction,
    order_reports,
    weigh_ending,
)
from triage.fleet.parsers.read import read_exposure
from triage.fleet.parsers.rows import DAY_ZERO, Options, Passed, Unread
from triage.fleet.record.columns import (
    EPOCH,
    Accusation,
    Accusations,
    FleetRecord,
    Interruptions,
    OutageStretch,
    RepairNotes,
    Runs,
    convert_to_epoch_ns,
)
from triage.fleet.record.faults import NEVER_NS, build_outages

# A failure is told a little before or after the end of its run, by another clock.
_SLACK_NS: Final = 60 * 1_000_000_000


class ToldStop(NamedTuple):
    """An interruption as a table tells it; ``node`` is who is to blame."""

    at: datetime
    cause: Category | None
    planned: bool
    resolved: bool
    job_id: str | None
    node: str | None
    score: float


class RecordRows:
    """Rows of a record by their keys; ``stops`` is None where the ends of runs tell of them.

    An outage is its node and start, a node its name; each row of ``runs`` is a run. Of two reports
    of an outage the one that ``order_reports`` puts first stands; of two of a fact the later one.
    """

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.stops: list[ToldStop] | None = None
        self.outages: dict[tuple[str, datetime], Outage] = {}
        self.repairs: set[NodeRepair] = set()
        self.facts: dict[str, dict[str, str]] = {}
        self.contradictions: set[tuple[str, datetime]] = set()

    def add(self, row: Run | Outage | NodeRepair | NodeFacts) -> None:
        """Keep a row, merged with what its key has."""
        if isinstance(row, Run):
            self.runs.append(row)
        elif isinstance(row, Outage):
            key = row.node, row.from_at.replace(microsecond=0)
            same = self.outages.get(key, row)
            if is_contradiction(same, row):
                self.contradictions.add(key)
            first, last = sorted((same, row), key=lambda one: (*order_reports(one), one.from_at))
            self.outages[key] = replace(first, **complete_fields(first, last))
        elif isinstance(row, NodeRepair):
            self.repairs.add(row)
        else:
            facts = {name: text for name in FACTS if (text := getattr(row, name))}
            self.facts[row.node] = self.facts.get(row.node, {}) | facts

    def iterate_run_times(self) -> Iterator[datetime]:
        """All times that runs and stops tell."""
        for run in self.runs:
            yield from (run.started_at, run.ended_at or run.started_at)
        yield from (stop.at for stop in self.stops or ())

    def iterate_outage_times(self) -> Iterator[datetime]:
        """All times that outages tell."""
        for outage in self.outages.values():
            yield from (outage.from_at, outage.to_at or outage.from_at)

    def build(
        self,
        since: datetime,
        until: datetime,
        *,
        nodes: int | Iterable[str] = (),
        also: Iterable[str] = (),
        cluster: str | None = None,
    ) -> FleetRecord:
        """The record between two times. ``nodes`` are those of the fleet, or how many it has in
        all; ``also`` are names that rows tell of beside those of runs, outages and facts.

        Raises :class:`UsageError` where it ends before it begins, or names more nodes than said.
        """
        if until < since:
            raise UsageError("the record ends before it begins: since has to be before until")
        first, last = convert_to_epoch_ns(since), convert_to_epoch_ns(until)
        kept = [
            run
            for run in self.runs
            if run.started_at < until and (run.ended_at is None or run.ended_at >= since)
        ]
        kept.sort(key=lambda run: run.started_at)
        named = {*self.facts, *also, *(row.node for row in self.outages.values())}
        named.update(stop.node for stop in self.stops or () if stop.node is not None)
        names = _collect_nodes(named.union(*(run.nodes for run in kept)), nodes)
        place = {name: number for number, name in enumerate(names)}
        runs = _build_runs(kept, place, first, last)
        if self.stops is None:
            over = [run.ended_at is not None and run.ended_at < until for run in kept]
            stops, accusations = _build_stops_from_runs(kept, runs, np.array(over, np.bool_)), []
        else:
            told = [stop for stop in self.stops if since <= stop.at <= until]
            stops = _build_stops(told, kept, runs)
            accusations = [
                Accusation(
                    row, place[stop.node], 1, stop.score, True, stop.cause or Category.GPU, None
                )
                for row, stop in enumerate(told)
                if stop.node is not None and not stop.planned
            ]
        facts: dict[str, Any] = {
            fact: tuple(self.facts.get(name, {}).get(fact) for name in names) for fact in FACTS
        }
        outages = (
            OutageStretch(
                place[row.node],
                convert_to_epoch_ns(row.from_at),
                NEVER_NS if row.to_at is None else convert_to_epoch_ns(row.to_at),
                *(row.reason, row.cause, row.action, row.planned),
            )
            for _, row in sorted(self.outages.items())
        )
        notes = [describe_contradictions(len(self.contradictions))] if self.contradictions else ()
        return FleetRecord(
            since_ns=first,
            until_ns=last,
            nodes=names,
            **facts,
            runs=runs,
            interruptions=stops,
            accusations=Accusations.of_rows(accusations),
            outages=build_outages(outages, runs, first, last)[0],
            gpus_per_node=runs.find_gpus_per_node(),
            cluster=cluster,
            notes=tuple(notes),
            repairs=self._build_repairs(place, since, until),
        )

    def _build_repairs(
        self, place: Mapping[str, int], since: datetime, until: datetime
    ) -> RepairNotes | None:
        """Notes within the time, of nodes of the record; None where nobody tells of any."""
        inside = [one for one in self.repairs if one.node in place and since <= one.at <= until]
        kept = sorted(inside, key=lambda one: (one.at, one.node, one.action, one.text))
        if not self.repairs:
            return None
        return RepairNotes.of_rows(
            kept,
            node=np.array([place[one.node] for one in kept], np.int32),
            at_ns=np.array([convert_to_epoch_ns(one.at) for one in kept], np.int64),
        )


def _collect_nodes(named: set[str], nodes: int | Iterable[str]) -> tuple[str, ...]:
    """All names, sorted; nodes that are only counted get names that no table has."""
    if not isinstance(nodes, int):
        return tuple(sorted(named.union(map(str, nodes))))
    if nodes < len(named):
        raise UsageError(f"nodes: the tables name {len(named)} nodes, and {nodes} were said")
    free = (name for number in count() if (name := f"unnamed{number:05d}") not in named)
    return tuple(sorted([*named, *islice(free, nodes - len(named))]))


def _build_runs(kept: Sequence[Run], place: Mapping[str, int], first: int, last: int) -> Runs:
    """The runs as columns, cut to the time."""
    ends = [last if run.ended_at is None else convert_to_epoch_ns(run.ended_at) for run in kept]
    start = np.array([max(convert_to_epoch_ns(run.started_at), first) for run in kept], np.int64)
    sizes = [len(run.nodes) for run in kept]
    return Runs.of_rows(
        kept,
        start_ns=start,
        end_ns=np.maximum(np.minimum(np.array(ends, np.int64), last), start),
        num_nodes=np.array([run.num_nodes or len(run.nodes) for run in kept], np.int32),
        interrupted=np.array([run.ending == Ending.UNEXPECTED for run in kept], np.bool_),
        planned=np.array([run.ending == Ending.PLANNED for run in kept], np.bool_),
        node_at=np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64),
        node=np.array([place[name] for run in kept for name in run.nodes], np.int32),
    )


def _build_stops_from_runs(
    kept: Sequence[Run], runs: Runs, over: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> Interruptions:
    """Each run that was stopped within the record, at its end."""
    run = np.flatnonzero((runs.interrupted | runs.planned) & over)
    run = run[np.argsort(runs.end_ns[run], kind="stable")]
    return Interruptions(
        at_ns=runs.end_ns[run],
        cause=tuple(kept[one].cause for one in run.tolist()),
        resolved=np.zeros(len(run), np.bool_),
        planned=runs.planned[run],
        run=run.astype(np.int32),
        num_gpus=runs.num_gpus[run],
        incident_id=(None,) * len(run),
    )


def _build_stops(told: Sequence[ToldStop], kept: Sequence[Run], runs: Runs) -> Interruptions:
    """The stops, in their order; each with the run of its job at its time."""
    of_job: dict[str, list[int]] = {}
    for number, run in enumerate(kept):
        if run.job_id:
            of_job.setdefault(run.job_id, []).append(number)
    at_ns = [convert_to_epoch_ns(stop.at) for stop in told]
    # The earlier one: a stop ends a run, and the next begins at once.
    places = [
        next(
            (
                number
                for number in of_job.get(stop.job_id or "", ())
                if runs.start_ns[number] - _SLACK_NS <= at <= runs.end_ns[number] + _SLACK_NS
            ),
            -1,
        )
        for stop, at in zip(told, at_ns, strict=True)
    ]
    return Interruptions.of_rows(
        told,
        at_ns=np.array(at_ns, np.int64),
        run=np.array(places, np.int32),
        num_gpus=np.array([kept[one].num_gpus if one >= 0 else 0 for one in places], np.int32),
        incident_id=(None,) * len(told),
    )


# A record out of exports alone: the files that an import reads, without a service.
#
# Of two reports of a run (its job and start) the fuller one counts, as in the database.

_Export = str | Path | bytes


def record_from_exports(
    *exports: _Export,
    cluster: str | None = None,
    zone: tzinfo = UTC,
    day_zero: datetime = DAY_ZERO,
    nodes: int | Iterable[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
) -> FleetRecord:
    r"""The record that these files tell, or their bytes: any format that an import reads.

    ``cluster`` is that of the record and of rows that name none; rows of others are left out.
    ``zone`` is that of times which name none, ``day_zero`` the day from which a table counts that
    names none. ``nodes`` are those of the fleet that no row names, or how many it has in all.
    ``since`` and ``until`` are the first and the last time that is told, where not given. Parts
    are not used. The notes of the record count what could not be read and what was left out.

    >>> table = b"node,from,to\nn1,2026-11-20T22:00Z,2026-11-21T06:00Z"
    >>> record = record_from_exports(table, nodes=9)
    >>> len(record.nodes), record.nodes[0]
    (9, 'n1')

    Raises :class:`UsageError` where a file cannot be read or rows are of several clusters,
    :class:`ArtifactError` for what is no export.
    """
    options = Options(zone=zone, cluster=cluster or "", day_zero=day_zero)
    rows = RecordRows()
    runs: dict[tuple[str, datetime], Run] = {}
    clusters: set[str] = set()
    left_out: Counter[str] = Counter()
    for export in exports:
        for row in read_exposure(BytesIO(_read_content(export)), options).rows:
            if isinstance(row, Unread):
                left_out["rows that could not be read"] += 1
            elif isinstance(row, Passed):
                left_out[row.what] += row.number
            elif cluster is not None and row.cluster != cluster:
                left_out["rows of other clusters"] += 1
            else:
                clusters.add(row.cluster)
                if isinstance(row, Run):
                    key = row.job_id, row.started_at
                    runs[key] = max(runs.get(key, row), row, key=_rank_fullness)
                elif not isinstance(row, PartSeen):
                    rows.add(row)
    if cluster is None and len(clusters) > 1:
        some = ", ".join(sorted(clusters)[:5])
        raise UsageError(f"rows of {len(clusters)} clusters ({some}): say which")
    rows.runs = [runs[key] for key in sorted(runs)]
    times = [*rows.iterate_run_times(), *rows.iterate_outage_times()]
    first = since or min(times, default=EPOCH)
    last = until or max(times, default=first)
    found = rows.build(first, last, nodes=nodes, cluster=cluster)
    notes = [f"{what} left out: {number:,}" for what, number in sorted(left_out.items())]
    return replace(found, notes=(*notes, *found.notes))


def _read_content(export: _Export) -> bytes:
    if isinstance(export, bytes):
        return export
    try:
        return Path(export).read_bytes()
    except OSError as error:
        raise UsageError(f"{export!s:.200} cannot be read: {error.strerror}") from error


def _rank_fullness(run: Run) -> tuple[int, int, int, float]:
    """How much a report of a run tells, as the database weighs it."""
    early = 0.0 if run.ended_at is None else -run.ended_at.timestamp()
    return weigh_ending(run.ending), len(run.nodes), run.num_gpus, early
