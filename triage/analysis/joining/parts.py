"""Which part of one node it was, where several rows together say more than each alone.

Several GPUs that are lost at once hang on one board; one GPU that faults again and again at
one place of its chip, in different processes or on different days, is no fault of the code.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from triage.analysis.facts.outlived import APPLICATION_XIDS, RUNS_APART_NS, parse_chip_place
from triage.analysis.facts.stop import ABOUT_THE_STOP, SECOND, Stop, When
from triage.analysis.joining.consequences import is_lost_gpu
from triage.analysis.joining.hypothesis import Hypothesis
from triage.analysis.placement.topology import Placement
from triage.domain.category import OF_THE_WHOLE_NODE, SOFTWARE, Category
from triage.domain.evidence import Evidence, Kind

_LOST_TOGETHER_NS: Final = 10 * SECOND
# This many of a node's GPUs, or all of at least so many, hang on the chassis rather than on one of
# its boards.
_CHASSIS_GPUS: Final = 6
_ALL_GPUS: Final = 4
# Beside the GPU that repeats itself another one may have a fault of its own.
_MOST_AT_ONCE: Final = 2
# As often as this the same place of a chip is no accident.
_REPEATS: Final = 3


def with_proven_part(
    cause: Hypothesis, rows: Sequence[Evidence], placement: Placement, stop: Stop
) -> Hypothesis:
    """``cause``, of whose node all ``rows`` are, with the part that they prove together."""
    if cause.category is Category.GPU and any(is_lost_gpu(row) for row in cause.rows):
        return _lift_lost_gpus_to_node(cause, rows, placement, stop)
    if cause.category in SOFTWARE:
        return _find_repeating_chip(cause, rows, stop)
    return cause


def _lift_lost_gpus_to_node(
    cause: Hypothesis, rows: Sequence[Evidence], placement: Placement, stop: Stop
) -> Hypothesis:
    """A node that loses several GPUs at once lost what they hang on, not each of them."""
    lost = [row for row in rows if row.gpu and is_lost_gpu(row) and not row.weak]
    newest = max((row.at_ns for row in lost if row.at_ns is not None), default=None)
    if newest is not None:
        lost = [row for row in lost if newest - (row.at_ns or 0) <= _LOST_TOGETHER_NS]
    count = len({row.gpu for row in lost})
    if count < 2:
        return cause
    is_all = count >= max(_ALL_GPUS, len(placement.ranks_on(cause.node or "")))
    category = Category.CHASSIS if count >= _CHASSIS_GPUS or is_all else Category.IO_BOARD
    whole = {row.category for row in rows if stop.of(row) in ABOUT_THE_STOP} & OF_THE_WHOLE_NODE
    if whole:
        category = Category.POWER if Category.POWER in whole else Category.CHASSIS
    also = {Category.CHASSIS, Category.POWER, Category.IO_BOARD, Category.GPU} - {category}
    return replace(cause, category=category, also=cause.also | also)


def _find_repeating_chip(cause: Hypothesis, rows: Sequence[Evidence], stop: Stop) -> Hypothesis:
    """One GPU that repeats an application's fault at one place of its chip: the GPU."""
    faults = [row for row in rows if row.kind is Kind.XID and row.code in APPLICATION_XIDS]
    now = [
        row
        for row in faults
        if row.gpu is not None and not row.is_generic and stop.of(row) in ABOUT_THE_STOP
    ]
    # It has to do so at the stop too; on other days anybody's program may have done it. What
    # several GPUs show at once is the code that runs on them.
    repeating = {row.gpu for row in now if _is_repeated_fault(row, faults, stop)}
    if len(repeating) != 1 or len({row.gpu for row in now}) > _MOST_AT_ONCE:
        return cause
    gpu = repeating.pop()
    if gpu is None or not any(row.gpu == gpu for row in cause.rows):
        return cause
    own = tuple(row for row in cause.rows if row.gpu in (gpu, None))
    return replace(
        cause,
        category=Category.GPU,
        rows=own,
        gpus=(gpu,),
        also=cause.also | SOFTWARE - {cause.category},
    )


def _is_repeated_fault(now: Evidence, faults: Sequence[Evidence], stop: Stop) -> bool:
    """Whether a GPU had this fault at this place before, in other processes or on other days."""
    alike = [
        row
        for row in faults
        if (row.gpu, row.code, parse_chip_place(row)) == (now.gpu, now.code, parse_chip_place(now))
    ]
    processes = {row.pid for row in alike if row.pid is not None}
    times = [t for row in alike for t in (row.at_ns, row.last_at_ns) if t is not None]
    apart = bool(times) and max(times) - min(times) > RUNS_APART_NS
    apart = apart or any(stop.of(row) is When.STALE for row in alike)
    return sum(row.count for row in alike) >= _REPEATS and (apart or len(processes) > 1)
