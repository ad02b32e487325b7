"""A node's bandwidth beside that of other nodes: weak evidence, a warning at most.

NCCL tests say nothing of what is right. Nodes with the same model of GPU that ran the same test
with the same size on as many ranks should measure about the same; one that is clearly below the
median of the others has a link or a GPU that is not as theirs. What else differs (versions of
NCCL, settings, a job beside it) is not in the output, so nobody fails by it.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Final

from sqlalchemy.orm import Session

from triage.domain.category import Category
from triage.domain.health import Bandwidth, CheckResult, Outcome
from triage.fleet.store import checks as stored

_CHECK: Final = "nccl.busbw"
# A median of fewer says little of what is usual.
_LEAST_OTHERS: Final = 5
# Runs on one node differ by some per cent; a missing NVLink of eighteen costs as much.
_BELOW: Final = 0.9
# Beyond what the others scatter by: five median absolute deviations.
_DEVIATIONS: Final = 5.0
# Where more are as slow, there are two kinds of nodes, or of settings, and no odd one.
_MOST_SLOW: Final = 0.2
_MOST_NODES: Final = 5_000
_GIB: Final = 1 << 30

_Key = tuple[str, str, int, int]


def hold_against_others(session: Session, cluster_id: int, results: Iterable[CheckResult]) -> int:
    """Warn of each node of the cluster that is slower than the others in the tests that
    ``results`` are of; the number of rows that have changed.

    All are compared again, so the order in which results come does not matter. A node that its
    own report calls slow keeps that.
    """
    wanted = {_make_key(result.bandwidth) for result in results if result.bandwidth is not None}
    if not wanted:
        return 0
    by_key: dict[_Key, list[stored.NodeBandwidth]] = {}
    for row in stored.list_bandwidths(session, cluster_id, _CHECK, _MOST_NODES):
        if (key := _make_key(row.bandwidth)) in wanted:
            by_key.setdefault(key, []).append(row)
    changed = 0
    for rows in by_key.values():
        usual = find_slow_nodes({row.node: row.bandwidth.gbps for row in rows})
        for row in rows:
            outcome, detail, category = row.outcome, row.detail, row.category
            if row.node in usual and outcome is Outcome.PASS:
                outcome, category = Outcome.WARN, str(Category.NVLINK)
                detail = _describe_slow(row.bandwidth, usual[row.node], len(rows) - 1)
            if (str(outcome), detail) != row.shown:
                stored.show_result(session, row.row_id, outcome, detail, category)
                changed += 1
    return changed


def find_slow_nodes(gbps: Mapping[str, float]) -> dict[str, float]:
    """Node -> the median of the others, in GB/s, for those that are clearly below it."""
    if len(gbps) <= _LEAST_OTHERS:
        return {}
    ordered = sorted(gbps.values())
    found: dict[str, float] = {}
    for node, own in gbps.items():
        middle = compute_median_without(ordered, bisect_left(ordered, own))
        if own >= _BELOW * middle:
            continue
        scatter = median(abs(value - middle) for name, value in gbps.items() if name != node)
        if own < middle - _DEVIATIONS * scatter:
            found[node] = middle
    return found if len(found) <= _MOST_SLOW * len(gbps) else {}


def compute_median_without(ordered: Sequence[float], place: int) -> float:
    """The median of ordered values, but for the one at ``place``."""
    count = len(ordered) - 1
    low, high = (count - 1) // 2, count // 2
    return (ordered[low + (low >= place)] + ordered[high + (high >= place)]) / 2


def _describe_slow(own: Bandwidth, usual: float, num_others: int) -> str:
    return (
        f"bus bandwidth {own.gbps:.1f} GB/s, the median of {num_others} other nodes is"
        f" {usual:.1f} GB/s ({own.test}, {_format_size(own.size_bytes)}, {own.num_ranks} ranks)"
    )


def _format_size(num_bytes: int) -> str:
    return f"{num_bytes / _GIB:g} GiB" if num_bytes >= _GIB else f"{num_bytes / (1 << 20):g} MiB"


def _make_key(one: Bandwidth) -> _Key:
    return one.test, one.gpu, one.size_bytes, one.num_ranks
