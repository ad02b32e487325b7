"""How long each node was in runs: the exposure that its interruptions are held against.

A node counts once however many runs say they were on it, so a run whose end was lost, or a
node that two jobs share, does not make it look better than it is.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from triage.fleet.record.columns import Floats, Ints, Runs

NS_PER_DAY: Final = 86_400 * 10**9
# Runs on fewer nodes are summed many at a time.
_SMALL: Final = 64


def measure_days_since(at_ns: Ints, from_ns: int) -> Floats:
    """Days from ``from_ns`` to each time; none are negative."""
    return np.maximum(at_ns - from_ns, 0) / NS_PER_DAY


def measure_decayed_days(at_ns: Ints, until_ns: int, half_life_days: float) -> Floats:
    """Days up to each time, a day weighing half for each half-life that it lies back.

    The weighed length of an interval is the difference of its ends.
    """
    age_days = np.maximum(until_ns - at_ns, 0) / NS_PER_DAY
    weighed: Floats = half_life_days / np.log(2) * np.exp2(-age_days / half_life_days)
    return weighed


def measure_time_in_runs(
    runs: Runs, num_nodes: int, measures: Sequence[Callable[[Ints], Floats]]
) -> tuple[Floats, ...]:
    """The time that each node was in at least one run, in each of the measures.

    A measure says how much time there was up to given times, and never falls: such as
    :func:`measure_days_since` and :func:`measure_decayed_days`. Runs are in the order of their
    starts.
    """
    totals = tuple(np.zeros(num_nodes) for _ in measures)
    lengths = [np.maximum(one(runs.end_ns) - one(runs.start_ns), 0.0) for one in measures]
    busy_until = np.full(num_nodes, np.iinfo(np.int64).min)
    counts = np.diff(runs.node_at)
    for first, last in _iterate_blocks(runs, counts):
        nodes = runs.node[runs.node_at[first] : runs.node_at[last]]
        each = slice(first, last)
        single = last - first == 1
        starts = runs.start_ns[first] if single else np.repeat(runs.start_ns[each], counts[each])
        ends = runs.end_ns[first] if single else np.repeat(runs.end_ns[each], counts[each])
        before = busy_until[nodes]
        if (before <= starts).all():
            for total, length in zip(totals, lengths, strict=True):
                total[nodes] += length[first] if single else np.repeat(length[each], counts[each])
            busy_until[nodes] = np.maximum(starts, ends)
            continue
        begins = np.maximum(starts, before)
        for total, measure in zip(totals, measures, strict=True):
            total[nodes] += np.maximum(measure(np.maximum(ends, begins)) - measure(begins), 0.0)
        busy_until[nodes] = np.maximum(ends, before)
    return totals


def find_times_in_runs(runs: Runs, num_nodes: int) -> tuple[Ints, Ints]:
    """When each node was first and last in a run, in ns; the first is after the last of one that
    no run names.
    """
    limits, counts = np.iinfo(np.int64), np.diff(runs.node_at)
    first_ns, last_ns = np.full(num_nodes, limits.max), np.full(num_nodes, limits.min)
    np.minimum.at(first_ns, runs.node, np.repeat(runs.start_ns, counts))
    np.maximum.at(last_ns, runs.node, np.repeat(runs.end_ns, counts))
    return first_ns, last_ns


def _iterate_blocks(runs: Runs, counts: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of runs in which no node comes twice: a large run alone, small ones together."""
    small = (counts < _SMALL) & (counts > 0)
    again = _last_seen(runs, counts, small)
    first: int | None = None
    for run in np.flatnonzero(counts > 0).tolist():
        if not small[run]:
            if first is not None:
                yield first, run
                first = None
            yield run, run + 1
        elif first is None:
            first = run
        elif again[run] >= first:
            yield first, run
            first = run
    if first is not None:
        yield first, len(counts)


def _last_seen(
    runs: Runs, counts: npt.NDArray[np.int64], small: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int64]:
    """For each small run the newest small run before it with one of its nodes; -1 for none."""
    found = np.full(len(counts), -1, dtype=np.int64)
    nodes = runs.node[np.repeat(small, counts)]
    if not nodes.size:
        return found
    own = np.repeat(np.flatnonzero(small), counts[small])
    order = np.argsort(nodes, kind="stable")
    same = nodes[order][1:] == nodes[order][:-1]
    before = np.full(len(nodes), -1, dtype=np.int64)
    before[order[1:][same]] = own[order[:-1][same]]
    starts = np.concatenate(([0], np.cumsum(counts[small])[:-1]))
    found[small] = np.maximum.reduceat(before, starts)
    return found
