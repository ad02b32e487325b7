"""Slowdown: how long a step takes, over how long it would take if all workers were alike.

Each operation takes in the ideal what its kind takes over all workers and steps: computing the
mean, communication the median of the time behind its last member's start. The step is replayed
with these times. A part's share is what a step takes if that part alone keeps its own times.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from benchmarks.replay.graph import Graph, graph_of
from benchmarks.replay.operations import Kind, OperationTable, Planes, planes_of
from triage.domain.arrays import F64, Flags

# Clocks of workers agree this well, in seconds: what ends before it began by more took no time.
_CLOCKS_S: Final = 0.01


@dataclass(frozen=True, slots=True)
class WhatIf:
    """``slowdown`` of the whole job, and of its parts: 1 for a part that costs nothing.

    ``by_worker`` is [stage, replica], ``by_stage``, ``by_replica`` and ``by_kind`` of all that
    belongs together. ``step_s`` is how long a step takes without pauses of hosts, ``ideal_s`` in
    the ideal.
    """

    slowdown: float
    step_s: float
    ideal_s: float
    by_worker: F64
    by_stage: F64
    by_replica: F64
    by_kind: dict[str, float]


def what_if(table: OperationTable) -> WhatIf:
    """The slowdown of a table of operations (see :func:`planes_of` for columns and errors)."""
    planes = planes_of(table)
    graph = graph_of(planes)
    own = _own_times(planes, graph)
    ideal = _ideal_times(planes, own)
    ideal_s = _replay(planes, graph, ideal)

    def kept(where: Flags) -> float:
        """A step if ``where`` keeps its own times, over one in the ideal."""
        return _replay(planes, graph, np.where(where, own, ideal)) / ideal_s

    stage = planes.stage_of()[:, None, None]
    replica = np.arange(planes.num_replicas)[None, None, :]
    kinds = np.array([node.kind for node in planes.nodes])[:, None, None]
    step_s = _replay(planes, graph, own)
    stages, replicas = range(planes.num_stages), range(planes.num_replicas)
    return WhatIf(
        slowdown=step_s / ideal_s,
        step_s=step_s,
        ideal_s=ideal_s,
        by_worker=np.array(
            [[kept((stage == s) & (replica == r)) for r in replicas] for s in stages]
        ),
        by_stage=np.array([kept(stage == s) for s in stages]),
        by_replica=np.array([kept(replica == r) for r in replicas]),
        by_kind={str(kind): kept(kinds == kind) for kind in np.unique(kinds)},
    )


def _own_times(planes: Planes, graph: Graph) -> F64:
    """What each operation took itself: of a meeting, from the start of its last member on."""
    own = planes.end - planes.start
    for meeting in graph.meetings:
        nodes = list(meeting.nodes)
        begun = _latest(planes.start[nodes], everywhere=meeting.of_all_replicas)
        took = planes.end[nodes] - begun
        own[nodes] = np.where(took <= -_CLOCKS_S, 0.0, took)
    return own


def _ideal_times(planes: Planes, own: F64) -> F64:
    """The same time for all operations of a kind."""
    ideal = np.empty_like(own)
    kinds = np.array([node.kind for node in planes.nodes])
    for kind in np.unique(kinds):
        values = own[kinds == kind]
        middle = np.median(values) if kind in Kind.COMMUNICATION else values.mean()
        ideal[kinds == kind] = middle
    return ideal


def _replay(planes: Planes, graph: Graph, times: F64) -> float:
    """How long a step takes in the mean if operations take ``times`` [node, step, replica]."""
    end = np.zeros_like(times)
    begun = np.zeros(times.shape[1:])
    for unit in graph.order:
        meeting = graph.meetings[-1 - unit] if unit < 0 else None
        nodes = [unit] if meeting is None else list(meeting.nodes)
        starts = np.stack(
            [
                end[graph.waits_for[node]].max(axis=0) if graph.waits_for[node] else begun
                for node in nodes
            ]
        )
        if meeting is not None:
            starts = _latest(starts, everywhere=meeting.of_all_replicas)
        end[nodes] = starts + times[nodes]
    last = [k for k, node in enumerate(planes.nodes) if node.kind == Kind.OPTIMIZER]
    return float(end[last].max(axis=(0, 2)).mean())


def _latest(starts: F64, *, everywhere: bool) -> F64:
    """The latest of some starts [node, step, replica], of each replica or of all."""
    found: F64 = starts.max(axis=(0, 2) if everywhere else 0, keepdims=True)
    return found
