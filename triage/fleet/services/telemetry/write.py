"""Days of nodes are written: what an upload tells, added to what is there."""

from collections.abc import Sequence
from dataclasses import fields, replace
from operator import itemgetter
from typing import Any, Final

import numpy as np
from sqlalchemy.orm import Session

from triage.fleet.services.telemetry.cells import Cells, join, merge_cells
from triage.fleet.services.telemetry.day import Day, is_counter, last_values, summarize_day
from triage.fleet.services.telemetry.hours import encode_day_hours
from triage.fleet.services.telemetry.pack import SeriesName, pack, unpack
from triage.fleet.services.telemetry.summary import NodeDay
from triage.fleet.store import telemetry
from triage.fleet.store.telemetry import LockedDay
from triage.services.context import Context

OneDay = tuple[NodeDay, list[SeriesName], Cells]
# Days of nodes in one transaction: others wait for no longer than that takes.
_DAYS_AT_ONCE: Final = 128
_HOURLY: Final = frozenset({"step_s", "num_steps", "inlet_c"})


def load_known_days(ctx: Context, cluster_id: int, wanted: Sequence[NodeDay]) -> list[OneDay]:
    """What is stored of these days of nodes."""
    with ctx.database.reading() as session:
        found = telemetry.load_packs(session, cluster_id, wanted)
    return [(key, *unpack(data, key[1])) for key, data in found.items()]


def write_days(
    ctx: Context, cluster_id: int, days: Sequence[OneDay], key_id: str | None = None
) -> None:
    """Add days of nodes to what is stored, a number of them in one transaction each.

    The day after a written one is summed up again too: its counters grew since. ``key_id`` is the
    token that brings them.
    """
    ordered = sorted(days, key=itemgetter(0))
    for start in range(0, len(ordered), _DAYS_AT_ONCE):
        with ctx.database.writing() as session:
            _write_some(session, cluster_id, ordered[start : start + _DAYS_AT_ONCE], key_id)


def _write_some(
    session: Session, cluster_id: int, days: Sequence[OneDay], key_id: str | None
) -> None:
    new = {key: (names, cells) for key, names, cells in days}
    nexts = telemetry.load_packs(
        session, cluster_id, [(node, day + 1) for node, day in new if (node, day + 1) not in new]
    )
    befores = telemetry.load_packs(
        session, cluster_id, [(node, day - 1) for node, day in new if (node, day - 1) not in new]
    )
    locked = telemetry.lock_days(session, cluster_id, sorted({*new, *nexts}))
    whole: dict[NodeDay, tuple[list[SeriesName], Cells]] = {}
    for key, row in locked.items():
        parts = [] if row.cells is None else [unpack(row.cells, key[1])]
        parts += [new[key]] if key in new else []
        whole[key] = _combine_parts(parts)
    for key, data in befores.items():
        whole[key] = unpack(data, key[1])
    telemetry.store_days(
        session,
        (_pack_day(key, locked[key], whole, changed=key in new) for key in sorted(locked)),
        {locked[key].id for key in new},
        key_id,
    )


def _combine_parts(
    parts: Sequence[tuple[list[SeriesName], Cells]],
) -> tuple[list[SeriesName], Cells]:
    """Several of one day as one, with one name for each series, in order."""
    names = sorted({name for named, _ in parts for name in named})
    number = {name: index for index, name in enumerate(names)}
    counts = np.array([is_counter(metric) for metric, _, _ in names], np.bool_)
    renamed = []
    for named, cells in parts:
        numbers = np.array([number[name] for name in named] or [0], np.int64)
        renamed.append(replace(cells, series=numbers[cells.series]))
    return names, merge_cells(join(renamed), counts)


def _pack_day(
    key: NodeDay,
    row: LockedDay,
    whole: dict[NodeDay, tuple[list[SeriesName], Cells]],
    *,
    changed: bool,
) -> tuple[LockedDay, dict[str, Any], bytes]:
    """A day as its row and its packed hours."""
    names, cells = whole[key]
    node, day = key
    before = whole.get((node, day - 1))
    found = summarize_day(names, cells, {} if before is None else last_values(*before))
    data = pack(names, cells, day) if changed or row.cells is None else row.cells
    return row, _build_columns(found), data


def _build_columns(day: Day) -> dict[str, Any]:
    """The columns of a day: its numbers, and what it has by the hour in one of them."""
    numbers = (field.name for field in fields(day) if field.name not in _HOURLY)
    return {name: getattr(day, name) for name in numbers} | {"hours": encode_day_hours(day)}
