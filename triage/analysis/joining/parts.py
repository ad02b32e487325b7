"""Which part of one node it was, where several rows together say more than each alone.

Several GPUs that are lost at once hang on one board; one GPU that faults again and again at
one place of its chip, in different processes or on different days, is no fault of the code.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from triage.analysis.joining.consequences import is_lost_gpu
from triage.analysis.joining.hypothesis import Hypothesis
from triage.analysis.stop import SECOND, Stop, When
from triage.domain.category import Category
from triage.domain.evidence import Evidence, Kind

__all__ = ["refined"]

LOST_TOGETHER_NS: Final = 10 * SECOND
# So many of a node's GPUs hang on the chassis rather than on one of its boards.
CHASSIS_GPUS: Final = 6
# What bad code and a bad chip print alike.
APPLICATION_XIDS: Final = frozenset({13, 31, 32, 68, 69})
SOFTWARE: Final = frozenset({Category.SOFTWARE_USER, Category.SOFTWARE_FRAMEWORK})
# Faults further apart than this are not of one run of one program.
RUNS_APART_NS: Final = 6 * 3600 * SECOND
ABOUT_THE_STOP: Final = frozenset({When.AT, When.AFTER, When.UNDATED})
# As often as this the same place of a chip is no accident.
REPEATS: Final = 3
# A program's own fault shows on many GPUs; of one chip, at most on itself.
GPUS_OF_CODE: Final = 2


def refined(one: Hypothesis, rows: Sequence[Evidence], stop: Stop) -> Hypothesis:
    """``one``, of whose node all ``rows`` are, with the part that they prove together."""
    if one.category is Category.GPU and any(is_lost_gpu(row) for row in one.rows):
        return what_lost_gpus_hang_on(one, rows)
    if one.category in SOFTWARE:
        return chip_that_repeats(one, rows, stop)
    return one


def what_lost_gpus_hang_on(one: Hypothesis, rows: Sequence[Evidence]) -> Hypothesis:
    """A node that loses several GPUs at once lost what they hang on, not each of them."""
    lost = [row for row in rows if row.gpu and is_lost_gpu(row) and not row.weak]
    newest = max((row.at_ns for row in lost if row.at_ns is not None), default=None)
    if newest is not None:
        lost = [row for row in lost if newest - (row.at_ns or 0) <= LOST_TOGETHER_NS]
    count = len({row.gpu for row in lost})
    if count < 2:
        return one
    category = Category.CHASSIS if count >= CHASSIS_GPUS else Category.IO_BOARD
    if any(row.kind is Kind.POWER for row in rows):
        category = Category.POWER
    also = {Category.CHASSIS, Category.POWER, Category.IO_BOARD, Category.GPU} - {category}
    return replace(one, category=category, also=one.also | also)


def chip_that_repeats(one: Hypothesis, rows: Sequence[Evidence], stop: Stop) -> Hypothesis:
    """One GPU that repeats an application's fault, over places, processes or days: the GPU."""
    faults: dict[str, list[Evidence]] = defaultdict(list)
    for row in rows:
        if row.kind is Kind.XID and row.code in APPLICATION_XIDS and row.gpu is not None:
            faults[row.gpu].append(row)
    if not 0 < len(faults) < GPUS_OF_CODE:
        return one
    ((gpu, shown),) = faults.items()
    # It has to do so at the stop too; on other days anybody's program may have done it.
    now = [row for row in one.rows if row.gpu == gpu and stop.of(row) in ABOUT_THE_STOP]
    if not now or not repeats(shown):
        return one
    own = tuple(row for row in one.rows if row.gpu in (gpu, None))
    return replace(
        one, category=Category.GPU, rows=own, gpus=(gpu,), also=one.also | SOFTWARE - {one.category}
    )


def repeats(shown: Sequence[Evidence]) -> bool:
    """Whether faults of one GPU are too many, too far apart or too alike for bad code."""
    processes = {row.pid for row in shown if row.pid is not None}
    places: dict[str, int] = defaultdict(int)
    for row in shown:
        if place := chip_place(row):
            places[place] += row.count
    times = [t for row in shown for t in (row.at_ns, row.last_at_ns) if t is not None]
    apart = bool(times) and max(times) - min(times) > RUNS_APART_NS
    often = any(count >= REPEATS for count in places.values())
    return apart or len(processes) >= REPEATS or (often and len(processes) >= 2)


def chip_place(row: Evidence) -> str | None:
    """``GPC 7, TPC 7``: where on the chip a fault was, as far as the line says it."""
    place = row.fields.get("place", "")
    return ", ".join(place.split(", ")[:2]) or None
