"""A record out of exports alone: the files that an import reads, without a service.

Of two reports of a run (its job and start) the fuller one counts, as in the database.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from io import BytesIO
from pathlib import Path

from triage.errors import UsageError
from triage.fleet.domain.exposure import PartSeen, Run, weigh_ending
from triage.fleet.parsers.read import read_exposure
from triage.fleet.parsers.rows import DAY_ZERO, Options, Passed, Unread
from triage.fleet.record.columns import EPOCH, FleetRecord
from triage.fleet.record.from_rows import RecordRows

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
    fleet = nodes if isinstance(nodes, int) else names
    found = rows.build(first, last, nodes=fleet, cluster=cluster)
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
