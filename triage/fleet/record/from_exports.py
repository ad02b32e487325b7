"""A record out of exports alone: the files that an import reads, without a service.

What the database merges by its keys is merged here by the same: a run is its job and start, an
outage its node and start. Of two reports of a run the fuller one counts, of two of an outage the
one that ``same_outage`` names.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from triage.errors import UsageError
from triage.fleet.domain.exposure import FACTS, NodeFacts, NodeRepair, Outage, Run, weigh_ending
from triage.fleet.domain.same_outage import (
    complete_fields,
    describe_contradictions,
    is_contradiction,
    order_reports,
)
from triage.fleet.parsers.read import read_exposure
from triage.fleet.parsers.rows import DAY_ZERO, Options, Passed, Row, Unread
from triage.fleet.record.columns import FleetRecord, RepairNotes
from triage.fleet.record.from_frames import record_from_frames

if TYPE_CHECKING:
    from pandas import DataFrame

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
    names none. ``nodes`` are those of the fleet that no row names, or how many it has in all; as
    names they are also what a ticket may name in its text. ``since`` and ``until`` are the first
    and the last time that is told, where not given. Parts are not used. The notes of the record
    count what could not be read and what was left out.

    >>> table = b"node,from,to\nn1,2026-11-20T22:00Z,2026-11-21T06:00Z"
    >>> record = record_from_exports(table, nodes=9)
    >>> len(record.nodes), record.nodes[0]
    (9, 'n1')

    Raises :class:`UsageError` where a file cannot be read or rows are of several clusters,
    :class:`ArtifactError` for what is no export.
    """
    names = () if isinstance(nodes, int) else tuple(nodes)
    options = Options(
        zone=zone, cluster=cluster or "", day_zero=day_zero, nodes=lambda: frozenset(names)
    )
    gathered = _Gathered(cluster)
    for export in exports:
        for row in read_exposure(BytesIO(_read_content(export)), options).rows:
            gathered.add(row)
    if cluster is None and len(gathered.clusters) > 1:
        some = ", ".join(sorted(gathered.clusters)[:5])
        raise UsageError(f"rows of {len(gathered.clusters)} clusters ({some}): say which")
    return gathered.record(since, until, nodes if isinstance(nodes, int) else names)


def _read_content(export: _Export) -> bytes:
    if isinstance(export, bytes):
        return export
    try:
        return Path(export).read_bytes()
    except OSError as error:
        raise UsageError(f"{export!s:.200} cannot be read: {error.strerror}") from error


class _Gathered:
    """Rows by their keys."""

    def __init__(self, cluster: str | None) -> None:
        self.cluster = cluster
        self.clusters: set[str] = set()
        self.runs: dict[tuple[str, datetime], Run] = {}
        self.outages: dict[tuple[str, datetime], Outage] = {}
        self.repairs: set[NodeRepair] = set()
        self.facts: dict[str, dict[str, str]] = {}
        self.left_out: Counter[str] = Counter()
        self.contradictions: set[tuple[str, datetime]] = set()

    def add(self, row: Row) -> None:
        """Keep a row, or count why not."""
        if isinstance(row, Unread):
            self.left_out["rows that could not be read"] += 1
        elif isinstance(row, Passed):
            self.left_out[row.what] += row.number
        elif self.cluster is not None and row.cluster != self.cluster:
            self.left_out["rows of other clusters"] += 1
        else:
            self.clusters.add(row.cluster)
            self.keep(row)

    def keep(self, row: Row) -> None:
        """Merge a row with what its key has."""
        if isinstance(row, Run):
            run_key = row.job_id, row.started_at
            self.runs[run_key] = max(self.runs.get(run_key, row), row, key=_rank_fullness)
        elif isinstance(row, Outage):
            key = row.node, row.from_at.replace(microsecond=0)
            same = self.outages.get(key, row)
            if is_contradiction(same, row):
                self.contradictions.add(key)
            self.outages[key] = _merge_two(same, row)
        elif isinstance(row, NodeRepair):
            self.repairs.add(row)
        elif isinstance(row, NodeFacts):
            facts = {name: text for name in FACTS if (text := getattr(row, name))}
            self.facts[row.node] = self.facts.get(row.node, {}) | facts

    def record(
        self, since: datetime | None, until: datetime | None, nodes: int | Iterable[str]
    ) -> FleetRecord:
        """The record of all of them."""
        times = [*self.times()]
        found = record_from_frames(
            runs=_draw_frame(map(_build_run_columns, self.sorted_runs())) if self.runs else None,
            outages=_draw_frame(map(_build_outage_columns, self.sorted_outages()))
            if self.outages
            else None,
            inventory=_draw_frame({"node": name} | self.facts[name] for name in sorted(self.facts))
            if self.facts
            else None,
            since=since or min(times, default=None),
            until=until or max(times, default=None),
            nodes=nodes,
            cluster=self.cluster,
        )
        notes = [f"{what} left out: {num:,}" for what, num in sorted(self.left_out.items())]
        if self.contradictions:
            notes.append(describe_contradictions(len(self.contradictions)))
        return replace(found, notes=(*found.notes, *notes), repairs=self.notes_of(found))

    def sorted_runs(self) -> list[Run]:
        return [self.runs[key] for key in sorted(self.runs)]

    def sorted_outages(self) -> list[Outage]:
        return [self.outages[key] for key in sorted(self.outages)]

    def times(self) -> Iterator[datetime]:
        for run in self.runs.values():
            yield from (run.started_at, run.ended_at or run.started_at)
        for outage in self.outages.values():
            yield from (outage.from_at, outage.to_at or outage.from_at)

    def notes_of(self, record: FleetRecord) -> RepairNotes | None:
        place = {name: number for number, name in enumerate(record.nodes)}
        kept = sorted((one for one in self.repairs if one.node in place), key=lambda one: one.at)
        if not kept:
            return None
        return RepairNotes(
            node=np.array([place[one.node] for one in kept], np.int32),
            at_ns=np.array([round(one.at.timestamp()) * 10**9 for one in kept], np.int64),
            action=tuple(one.action for one in kept),
            text=tuple(one.text for one in kept),
        )


def _rank_fullness(run: Run) -> tuple[int, int, int, float]:
    """How much a report of a run tells, as the database weighs it."""
    early = 0.0 if run.ended_at is None else -run.ended_at.timestamp()
    return weigh_ending(run.ending), len(run.nodes), run.num_gpus, early


def _merge_two(one: Outage, other: Outage) -> Outage:
    first, last = sorted((one, other), key=order_reports)
    return replace(first, **complete_fields(first, last))


def _draw_frame(rows: Iterable[Mapping[str, Any]]) -> "DataFrame":
    import pandas as pd

    return pd.DataFrame(list(rows))


def _build_run_columns(run: Run) -> dict[str, Any]:
    return {
        "job_id": run.job_id,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "ending": run.ending,
        "num_nodes": run.num_nodes,
        "num_gpus": run.num_gpus,
        "nodes": list(run.nodes) or None,
        "cause": run.cause,
    }


def _build_outage_columns(outage: Outage) -> dict[str, Any]:
    return {
        "node": outage.node,
        "from_at": outage.from_at,
        "to_at": outage.to_at,
        "cause": outage.cause,
        "action": outage.action,
        "planned": outage.planned,
    }
