"""All ways of judging looks at a running job."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from triage.analysis.live.case import LiveCase
from triage.analysis.live.detectors import answers, counters, gpus, kernels, stacks
from triage.domain.finding import Finding
from triage.domain.live.look import Tool

# Each yields claims with their reasons; none when there is nothing to say.
LIVE_DETECTORS: Final[tuple[Callable[[LiveCase], Iterator[Finding]], ...]] = (
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
    partial(counters.find_ranks_behind, "comm_state.behind", Tool.COMM_STATE),
    partial(counters.find_ranks_behind, "trace_table.behind", Tool.TRACE_TABLE),
    counters.find_out_of_step,
    counters.find_set_up,
)


def find_look_claims(case: LiveCase) -> list[Finding]:
    """What the looks claim, the strongest first."""
    found = [finding for detect in LIVE_DETECTORS for finding in detect(case)]
    return sorted(found, key=lambda one: (-one.strength, one.detector, one.ranks, one.nodes))
