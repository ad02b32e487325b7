"""A record out of exports or DataFrames, without a service: each run, outage and node once."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from io import BytesIO
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from triage.errors import UsageError
from triage.fleet.domain.exposure import (
    FACTS,
    Ending,
    ExposureRow,
    NodeFacts,
    NodeRepair,
    Outage,
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
    Accusations,
    FleetRecord,
    Interruptions,
    OutageStretch,
    RepairNotes,
    Runs,
    convert_to_epoch_ns,
)
from triage.fleet.record.faults import NEVER_NS, build_outages

if TYPE_CHECKING:
    from pandas import DataFrame

_Export = str | Path | bytes
# Nine decimals of a day are a tenth of a millisecond.
_DAYS_FORMAT: Final = "%.9f"
_DATE_FORMAT: Final = "%Y-%m-%dT%H:%M:%S.%f%z"


def record_from_frames(
    runs: "DataFrame | None" = None,
    outages: "DataFrame | None" = None,
    *,
    inventory: "DataFrame | None" = None,
    since: object = None,
    until: object = None,
    cluster: str | None = None,
    nodes: int | Iterable[str] = (),
) -> FleetRecord:
    """The record of these tables, which are read as an import reads its tables of CSV.

    ``runs``: one row per attempt of a job: ``started_at``, ``ended_at`` (missing: it still runs)
    and ``num_gpus``; where known ``num_nodes``, ``nodes`` (a Slurm host list), ``job_id``,
    ``ending`` (``completed``, ``unexpected``, ``planned`` ...) and ``cause``.

    ``outages``: ``node``, ``from`` or ``from_at``, ``to`` or ``to_at`` (missing: still out), or
    ``from_day`` and ``to_day``, days since a day that nobody names, from which the record begins;
    where known ``cause``, ``detail``, ``reason``, ``action`` and ``planned``. A record of outages
    alone is a record. What is still out, and has runs that began later, was out until the first of
    them.

    ``inventory``: ``node`` and any of ``generation``, ``rack``, ``leaf_switch``, ``batch``,
    ``cage``, ``slot``, ``role``. For the rest see :func:`record_from_exports`.
    """
    import pandas as pd

    if runs is not None and "job_id" not in runs:
        runs = runs.assign(job_id=range(len(runs)))
    if outages is not None and "from_day" in outages:
        since = DAY_ZERO if since is None and runs is None else since
        # What was out before the record is out at its begin.
        days = pd.to_numeric(outages["from_day"], errors="coerce").clip(lower=0)
        outages = outages.assign(from_day=days)
    # A time of Python has whole microseconds; what is below is no part of a record.
    first, last = (
        None if at is None else pd.to_datetime(at, utc=True).floor("us").to_pydatetime()  # type: ignore[call-overload]
        for at in (since, until)
    )
    tables = (
        one.to_csv(index=False, float_format=_DAYS_FORMAT, date_format=_DATE_FORMAT).encode()
        for one in (runs, outages, inventory)
        if one is not None and len(one)
    )
    return record_from_exports(*tables, cluster=cluster, nodes=nodes, since=first, until=last)


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

    Raises :class:`UsageError` where a file, or each row of it, cannot be read, where rows are of
    several clusters, and where the record ends before it begins or names more nodes than said;
    :class:`ArtifactError` for what is no export.
    """
    options = Options(zone=zone, cluster=cluster or "", day_zero=day_zero)
    rows = _Rows()
    clusters: set[str] = set()
    left_out: Counter[str] = Counter()
    for export in exports:
        unread: list[Unread] = []
        found = 0
        for row in read_exposure(BytesIO(_read_content(export)), options).rows:
            if isinstance(row, Unread):
                unread.append(row)
            elif isinstance(row, Passed):
                left_out[row.what] += row.number
            elif cluster is not None and row.cluster != cluster:
                left_out["rows of other clusters"] += 1
            else:
                clusters.add(row.cluster)
                rows.add(row)
                found += 1
        left_out["rows that could not be read"] += len(unread)
        if unread and not found:
            raise UsageError(f"not one row can be read; line {unread[0].line}: {unread[0].why}")
    if cluster is None and len(clusters) > 1:
        some = ", ".join(sorted(clusters)[:5])
        raise UsageError(f"rows of {len(clusters)} clusters ({some}): say which")
    times = [
        *(at for run in rows.runs.values() for at in (run.started_at, run.ended_at) if at),
        *(at for outage in rows.outages.values() for at in (outage.from_at, outage.to_at) if at),
    ]
    first = since or min(times, default=EPOCH)
    last = until or max(times, default=first)
    notes = [f"{what} left out: {number:,}" for what, number in sorted(left_out.items()) if number]
    return _build_record(rows, first, last, nodes, cluster, notes)


def _read_content(export: _Export) -> bytes:
    if isinstance(export, bytes):
        return export
    try:
        return Path(export).read_bytes()
    except OSError as error:
        raise UsageError(f"{export!s:.200} cannot be read: {error.strerror}") from error


class _Rows:
    """Rows of a record by their keys.

    A run is its job and start, an outage its node and start, a node its name. Of two reports of a
    run the fuller one stands, of an outage the one that ``order_reports`` puts first; of two of a
    fact the later one.
    """

    def __init__(self) -> None:
        self.runs: dict[tuple[str, datetime], Run] = {}
        self.outages: dict[tuple[str, datetime], Outage] = {}
        self.repairs: set[NodeRepair] = set()
        self.facts: dict[str, dict[str, str]] = {}
        self.contradictions: set[tuple[str, datetime]] = set()

    def add(self, row: ExposureRow) -> None:
        """Keep a row, merged with what its key has; parts are not kept."""
        if isinstance(row, Run):
            of = row.job_id, row.started_at
            self.runs[of] = max(self.runs.get(of, row), row, key=_rank_fullness)
        elif isinstance(row, Outage):
            key = row.node, row.from_at.replace(microsecond=0)
            same = self.outages.setdefault(key, row)
            if same is row:
                return
            if is_contradiction(same, row):
                self.contradictions.add(key)
            first, last = sorted((same, row), key=lambda one: (*order_reports(one), one.from_at))
            self.outages[key] = replace(first, **complete_fields(first, last))
        elif isinstance(row, NodeRepair):
            self.repairs.add(row)
        elif isinstance(row, NodeFacts):
            facts = {name: text for name in FACTS if (text := getattr(row, name))}
            self.facts[row.node] = self.facts.get(row.node, {}) | facts


def _rank_fullness(run: Run) -> tuple[int, int, int, float]:
    """How much a report of a run tells, as the database weighs it."""
    early = 0.0 if run.ended_at is None else -run.ended_at.timestamp()
    return weigh_ending(run.ending), len(run.nodes), run.num_gpus, early


def _build_record(
    rows: _Rows,
    since: datetime,
    until: datetime,
    nodes: int | Iterable[str],
    cluster: str | None,
    notes: list[str],
) -> FleetRecord:
    """The record between two times."""
    if until < since:
        raise UsageError("the record ends before it begins: since has to be before until")
    first, last = convert_to_epoch_ns(since), convert_to_epoch_ns(until)
    kept = [
        run
        for _, run in sorted(rows.runs.items())
        if run.started_at < until and (run.ended_at is None or run.ended_at >= since)
    ]
    kept.sort(key=lambda run: run.started_at)
    named = {*rows.facts, *(row.node for row in rows.outages.values())}
    names = _collect_nodes(named.union(*(run.nodes for run in kept)), nodes)
    place = {name: number for number, name in enumerate(names)}
    runs = _build_runs(kept, place, first, last)
    facts: dict[str, Any] = {
        fact: tuple(rows.facts.get(name, {}).get(fact) for name in names) for fact in FACTS
    }
    outages = (
        OutageStretch(
            place[row.node],
            convert_to_epoch_ns(row.from_at),
            NEVER_NS if row.to_at is None else convert_to_epoch_ns(row.to_at),
            *(row.reason, row.cause, row.action, row.planned),
        )
        for _, row in sorted(rows.outages.items())
    )
    if rows.contradictions:
        notes = [*notes, describe_contradictions(len(rows.contradictions))]
    over = np.array([run.ended_at is not None and run.ended_at < until for run in kept], np.bool_)
    return FleetRecord(
        since_ns=first,
        until_ns=last,
        nodes=names,
        **facts,
        runs=runs,
        interruptions=_build_stops(kept, runs, over),
        accusations=Accusations.of_rows(()),
        outages=build_outages(outages, runs, first, last)[0],
        gpus_per_node=runs.find_gpus_per_node(),
        cluster=cluster,
        notes=tuple(notes),
        repairs=_build_repairs(rows.repairs, place, since, until),
    )


def _build_repairs(
    repairs: set[NodeRepair], place: Mapping[str, int], since: datetime, until: datetime
) -> RepairNotes | None:
    """Notes within the time, of nodes of the record; None where nobody tells of any."""
    if not repairs:
        return None
    inside = [one for one in repairs if one.node in place and since <= one.at <= until]
    kept = sorted(inside, key=lambda one: (one.at, one.node, one.action, one.text))
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


def _build_stops(
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
