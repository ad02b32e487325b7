"""Errors that leave open which part failed, and what else tells it.

A process says that its device failed, and not in what; a check names a result, and not the chip.
What a machine or a tool says of the same GPU, or that one rank alone has it, closes it.
"""

from collections.abc import Sequence
from dataclasses import replace

from triage.analysis.facts.stop import ABOUT_THE_STOP, Stop, When, is_by_process
from triage.analysis.joining.hypothesis import (
    Hypothesis,
    get_time_key,
    is_seen_at_stop,
    is_sure_reading,
)
from triage.analysis.joining.place import AtNode, Place
from triage.analysis.placement.topology import Placement
from triage.domain.category import (
    GPU_PARTS,
    HARDWARE,
    OF_THE_WHOLE_NODE,
    SOFTWARE,
    Category,
)
from triage.domain.evidence import KERNEL_KINDS, Evidence, Kind, Trait


def tell_open_ones(grouped: dict[Category, list[Evidence]], stop: Stop) -> None:
    """What a process says of several parts alike is of the one that a machine or a tool names."""
    for category in list(grouped):
        own = grouped[category]
        if not all(is_by_process(row) and row.also for row in own):
            continue
        named = [
            other
            for other, rows in grouped.items()
            if other is not category
            and all(other in row.also for row in own)
            and any(_has_named_part(row, stop) for row in rows)
        ]
        if len(named) == 1:
            grouped[named[0]] = sorted(
                [*grouped[named[0]], *grouped.pop(category)], key=get_time_key
            )


def tell_unnamed_ones(
    grouped: dict[Category, list[Evidence]], place: Place, placement: Placement
) -> None:
    """A device error that names no part is of the GPU of its rank, where one part is told of it."""
    unnamed = grouped.get(Category.NCCL_TIMEOUT, [])
    ranks = {row.rank for row in unnamed}
    if not isinstance(place, AtNode) or not all(row.kind is Kind.CUDA for row in unnamed):
        return
    if len(ranks) != 1 or None in ranks:
        return
    parts = [
        category
        for category, rows in grouped.items()
        if category is not Category.NCCL_TIMEOUT
        and any(row.gpu and placement.rank_of_gpu(place.node, row.gpu) in ranks for row in rows)
        and not all(row.is_generic or row.is_mild for row in rows)
    ]
    if len(parts) == 1:
        grouped[parts[0]] = sorted(
            [*grouped[parts[0]], *grouped.pop(Category.NCCL_TIMEOUT)], key=get_time_key
        )


def tell_whole_node(grouped: dict[Category, list[Evidence]], stop: Stop) -> None:
    """Parts of a node that fail at the stop in known words fail with the whole node, where its
    controller tells of that in words that no signature knows.
    """
    whole = sorted(OF_THE_WHOLE_NODE & grouped.keys())
    if len(whole) != 1 or not all(Trait.UNFAMILIAR in row.traits for row in grouped[whole[0]]):
        return
    parts = [name for name in grouped if name in HARDWARE and name is not whole[0]]
    rows = [
        replace(row, also=(name, *row.also))
        for name in parts
        if any(row.is_firm and stop.of(row) in ABOUT_THE_STOP for row in grouped[name])
        for row in grouped.pop(name)
    ]
    grouped[whole[0]] = sorted([*grouped[whole[0]], *rows], key=get_time_key)


def tell_open_gpu(grouped: dict[Category, list[Evidence]]) -> None:
    """What the reader takes for a GPU and for one part of it is that part."""
    own = grouped.get(Category.GPU, [])
    parts = [name for name in grouped if name in GPU_PARTS and name is not Category.GPU]
    if own and len(parts) == 1 and all(Trait.UNFAMILIAR in row.traits for row in own):
        rows = [*grouped[parts[0]], *grouped.pop(Category.GPU)]
        grouped[parts[0]] = sorted(rows, key=get_time_key)


def _has_named_part(row: Evidence, stop: Stop) -> bool:
    machine = row.kind in KERNEL_KINDS or not is_by_process(row)
    # A process that crashes may be anybody's; a GPU that faults is of the job's.
    machine = machine and (row.category not in SOFTWARE or row.kind is Kind.XID)
    # What is found after the stop names no place, but the part of a place that failed.
    found_late = is_sure_reading(row) and stop.of(row) is When.TEARDOWN
    return machine and not row.is_generic and (found_late or stop.of(row) in ABOUT_THE_STOP)


def with_gpus_of_unnamed_errors(causes: Sequence[Hypothesis], stop: Stop) -> list[Hypothesis]:
    """A device error that names no part is the GPU's where one rank alone has it: a program that
    is wrong is so on many.
    """
    unnamed = [
        cause
        for cause in causes
        if cause.category is Category.NCCL_TIMEOUT
        and cause.rows
        and all(row.kind is Kind.CUDA and row.category is None for row in cause.rows)
        and is_seen_at_stop(cause, stop)
    ]
    if len(unnamed) != 1 or len(unnamed[0].ranks) != 1 or unnamed[0].in_no_node:
        return list(causes)
    of_software = (Category.SOFTWARE_FRAMEWORK, Category.SOFTWARE_USER)
    return [
        replace(cause, category=Category.GPU, also=cause.also.union(of_software))
        if cause is unnamed[0]
        else cause
        for cause in causes
    ]
