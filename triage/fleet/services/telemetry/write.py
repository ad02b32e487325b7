"""Days of nodes are written: what an upload tells, added to what is there."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from sqlalchemy.orm import Session

from triage.fleet.services.telemetry.cells import Cells, join, merged
from triage.fleet.services.telemetry.day import Day, day_of, is_counter, last_values
from triage.fleet.services.telemetry.hours import hours_bytes
from triage.fleet.services.telemetry.pack import SeriesName, pack, unpack
from triage.fleet.services.telemetry.summary import NodeDay
from triage.fleet.store import telemetry
from triage.fleet.store.telemetry import LockedDay
from triage.services.context import Context

__all__ = ["OneDay", "known_days", "write_days"]

OneDay = tuple[NodeDay, list[SeriesName], Cells]
# Days of nodes in one transaction: others wait for no longer than that takes.
DAYS_AT_ONCE: Final = 128


def known_days(ctx: Context, cluster_id: int, wanted: Sequence[NodeDay]) -> list[OneDay]:
    """What is stored of these days of nodes."""
    with ctx.database.reading() as session:
        found = telemetry.packs(session, cluster_id, wanted)
    return [(key, *unpack(data, key[1])) for key, data in found.items()]


def write_days(ctx: Context, cluster_id: int, days: Sequence[OneDay]) -> None:
    """Add days of nodes to what is stored, a number of them in one transaction each.

    A day that follows one that is written is summed up anew too: its counters grew since.
    """
    ordered = sorted(days, key=lambda one: one[0])
    for start in range(0, len(ordered), DAYS_AT_ONCE):
        with ctx.database.writing() as session:
            write_some(session, cluster_id, ordered[start : start + DAYS_AT_ONCE])


def write_some(session: Session, cluster_id: int, days: Sequence[OneDay]) -> None:
    new = {key: (names, cells) for key, names, cells in days}
    nexts = telemetry.packs(
        session, cluster_id, [(node, day + 1) for node, day in new if (node, day + 1) not in new]
    )
    befores = telemetry.packs(
        session, cluster_id, [(node, day - 1) for node, day in new if (node, day - 1) not in new]
    )
    held = telemetry.hold_days(session, cluster_id, sorted({*new, *nexts}))
    whole: dict[NodeDay, tuple[list[SeriesName], Cells]] = {}
    for key, one in held.items():
        parts = [] if one.cells is None else [unpack(one.cells, key[1])]
        parts += [new[key]] if key in new else []
        whole[key] = together(parts)
    for key, data in befores.items():
        whole[key] = unpack(data, key[1])
    telemetry.store_days(
        session, (stored(key, held[key], whole, changed=key in new) for key in sorted(held))
    )


def together(
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
    return names, merged(join(renamed), counts)


def stored(
    key: NodeDay,
    held: LockedDay,
    whole: dict[NodeDay, tuple[list[SeriesName], Cells]],
    *,
    changed: bool,
) -> tuple[LockedDay, dict[str, Any], bytes]:
    """A day as its row and its packed hours."""
    names, cells = whole[key]
    node, day = key
    before = whole.get((node, day - 1))
    found = day_of(names, cells, {} if before is None else last_values(*before))
    data = pack(names, cells, day) if changed or held.cells is None else held.cells
    return held, row_of(found), data


def row_of(day: Day) -> dict[str, Any]:
    return {
        "num_samples": day.num_samples,
        "throttled_minutes": day.throttled_minutes,
        "brake_minutes": day.brake_minutes,
        "gpu_temp_max_c": day.gpu_temp_max_c,
        "inlet_mean_c": day.inlet_mean_c,
        "ecc_growth": day.ecc_growth,
        "ecc_corrected_growth": day.ecc_corrected_growth,
        "remap_growth": day.remap_growth,
        "nvlink_growth": day.nvlink_growth,
        "ib_growth": day.ib_growth,
        "hours": hours_bytes(day),
    }
