"""All detectors: of dumps, in the order in which they are heard on one end of the graph, and of
looks at a running job.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from triage.analysis.detectors import (
    device_stall,
    fabric_stall,
    host_stall,
    lone_witness,
    mismatch,
    no_dump,
    order_cycle,
    p2p,
    setup_hang,
    slow_device,
    straggler,
)
from triage.analysis.live.case import LiveCase
from triage.analysis.live.detectors import answers, counters, gpus, kernels, stacks
from triage.analysis.waiting.case import Case
from triage.domain.category import ANY_CAUSE, HARDWARE, SOFTWARE, Category, Role, VerdictKind
from triage.domain.finding import Finding
from triage.domain.live.look import Tool


@dataclass(frozen=True, slots=True)
class Detector:
    """One way of judging dumps. ``find`` yields claims, each with its reasons; ``explains`` are the
    causes that can make what it sees.

    ``runs_in_flight`` is whether it has something to say where what is unfinished was only just
    issued; ``is_gap`` whether it speaks of missing files, so that claims from records come first.
    """

    name: str
    find: Callable[[Case], Iterator[Finding]]
    explains: frozenset[Category]
    runs_in_flight: bool = False
    is_gap: bool = False


_MISMATCH: Final = frozenset({Category.COLLECTIVE_MISMATCH})
_SLOW: Final = HARDWARE | {Category.HOST_STALL, Category.STORAGE}
_FABRIC: Final = {Category.HOST_MAINTENANCE, Category.GPU_OOM, Category.HOST_OOM}
_DEVICE: Final = HARDWARE | SOFTWARE | {Category.DEPENDENCY}
DETECTORS: Final = (
    Detector(setup_hang.NAME, setup_hang.find_setup_hang, ANY_CAUSE),
    Detector(host_stall.NAME, host_stall.find_host_stalls, ANY_CAUSE - _MISMATCH),
    Detector(mismatch.NAME, mismatch.find_mismatches, SOFTWARE | _MISMATCH | {Category.NUMERICAL}),
    Detector(p2p.NAME, p2p.find_p2p_mismatches, _MISMATCH),
    Detector(order_cycle.NAME, order_cycle.find_order_cycles, _MISMATCH),
    Detector(device_stall.NAME, device_stall.find_device_stalls, _DEVICE),
    Detector(lone_witness.NAME, lone_witness.find_lone_witnesses, _MISMATCH),
    Detector(no_dump.NAME, no_dump.find_missing_dumps, ANY_CAUSE, is_gap=True),
    Detector(fabric_stall.NAME, fabric_stall.find_fabric_stalls, _DEVICE | _FABRIC),
    Detector(
        straggler.NAME,
        straggler.find_stragglers,
        _SLOW | {Category.HOST_OOM},
        runs_in_flight=True,
    ),
    Detector(slow_device.NAME, slow_device.find_slow_devices, _SLOW, runs_in_flight=True),
)
# Of looks: each says what explains its claims, and several may speak of one place.
LOOK_DETECTORS: Final[tuple[Callable[[LiveCase], Iterator[Finding]], ...]] = (
    stacks.find_odd_stacks,
    answers.find_silent_processes,
    stacks.find_odd_wait,
    stacks.find_alike_stacks,
    stacks.find_held_processes,
    kernels.find_shortest_kernels,
    gpus.find_odd_gpus,
    answers.find_unresponsive,
    answers.find_async_errors,
    counters.find_odd_operations,
    partial(counters.find_ranks_behind, "ras.behind", Tool.RAS),
    partial(counters.find_ranks_behind, "trace_table.behind", Tool.TRACE_TABLE),
    counters.find_out_of_step,
    counters.find_set_up,
)


def find_detector_claims(case: Case) -> list[Finding]:
    """What dumps claim: of each end of the graph the first detector to speak; strongest first."""
    claims: list[Finding] = []
    claimed: set[int] = set()
    for detector in DETECTORS:
        if case.in_flight and not detector.runs_in_flight:
            continue
        findings = [
            one if one.explained_by else replace(one, explained_by=detector.explains)
            for one in detector.find(case)
        ]
        if detector.is_gap and claimed:
            # A missing file where the records show a fault of their own: no second one.
            kind, strength = VerdictKind.INCONCLUSIVE, no_dump.GAP_STRENGTH
            findings = [
                replace(one, kind=kind, role=Role.POSSIBLE, strength=strength) for one in findings
            ]
        claims += [f for f in findings if f.end is None or f.end not in claimed]
        claimed |= {finding.end for finding in findings if finding.end is not None}
    order = {detector.name: place for place, detector in enumerate(DETECTORS)}
    return sorted(
        claims, key=lambda f: (-f.strength, -(f.late_ms or 0), order[f.detector], f.ranks)
    )


def find_look_claims(case: LiveCase) -> list[Finding]:
    """What the looks claim, the strongest first."""
    found = [finding for detect in LOOK_DETECTORS for finding in detect(case)]
    return sorted(found, key=lambda one: (-one.strength, one.detector, one.ranks, one.nodes))
