"""The job on its machines: who sits where, which nodes it has, and what those hang on."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from triage.analysis.placement.identity import JobPlacement

Placement = JobPlacement
"""Who sits where, as far as it is known."""


@dataclass(frozen=True, slots=True)
class JobTopology:
    """``nodes`` are those of the job; ``leaf_switch`` is node -> the switch that it hangs on."""

    placement: Placement
    nodes: Collection[str]
    leaf_switch: Mapping[str, str]
