"""Which repair works for which cause: how many of its returns failed again, beside the others.

A node that fails ten times after ten reboots is one node, so the test takes the first return of
each node, cause and repair. All cells are tested together at a false-discovery rate of 5 %.
Who gets which repair is chosen by people: a difference is a question to them, and no proof.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import numpy as np

from triage.domain.wire import Count, WireForm
from triage.fleet.record.columns import Flags
from triage.fleet.repairs.features import EARLY_DAYS, LATE_DAYS
from triage.fleet.repairs.returns import ACTIONS, CAUSES, Returns, estimate_failed_share
from triage.statistics.estimate import Estimate
from triage.statistics.rates import adjust_p_values

_FALSE_DISCOVERY_RATE: Final = 0.05
# On either side of a comparison; of fewer nodes even all against none says little.
_FEWEST_NODES: Final = 8


class RepairVerdict(StrEnum):
    """How a repair does beside the others for its cause."""

    HOLDS_BETTER = "holds_better"
    HOLDS_WORSE = "holds_worse"
    NO_DIFFERENCE = "no_difference"  # none that is beyond chance
    CANNOT_TELL = "cannot_tell"


@dataclass(frozen=True, slots=True)
class CauseRecurrence(WireForm):
    """Returns after one cause, and the share that failed again, whatever the next cause."""

    cause: str
    num_returns: Count
    failed_7: Estimate
    failed_30: Estimate


@dataclass(frozen=True, slots=True)
class RepairRow(WireForm):
    """One repair for one cause. ``others_30`` are the other known repairs for it.

    ``p_value`` is that of the comparison over 30 days (Fisher's exact test on first returns of
    nodes), ``q_value`` the false-discovery rate; None where there is too little to compare.
    """

    cause: str
    action: str
    num_returns: Count
    failed_7: Estimate
    failed_30: Estimate
    others_30: Estimate
    p_value: float | None
    q_value: float | None
    verdict: RepairVerdict


def summarize_by_cause(returns: Returns) -> tuple[CauseRecurrence, ...]:
    """One row per cause that there is, the most frequent first."""
    rows = []
    for place, cause in enumerate(CAUSES):
        among = returns.cause == place
        if number := int(among.sum()):
            shares = (
                estimate_failed_share(returns, among, span) for span in (EARLY_DAYS, LATE_DAYS)
            )
            rows.append(CauseRecurrence(str(cause), number, *shares))
    return tuple(sorted(rows, key=lambda row: (-row.num_returns, row.cause)))


def summarize_by_repair(returns: Returns) -> tuple[RepairRow, ...]:
    """One row per cause and known repair, by cause, the most frequent repair first."""
    rows = list(_iterate_cells(returns))
    tested = [row for row in rows if row.p_value is not None]
    found = adjust_p_values(np.array([row.p_value for row in tested], np.float64))
    q_of = {(row.cause, row.action): float(q) for row, q in zip(tested, found, strict=True)}
    return tuple(_decide_verdict(row, q_of.get((row.cause, row.action))) for row in rows)


def _iterate_cells(returns: Returns) -> Iterator[RepairRow]:
    first = _find_first_of_node(returns)
    for cause in np.unique(returns.cause).tolist():
        of_cause = (returns.cause == cause) & (returns.action >= 0)
        actions, counts = np.unique(returns.action[of_cause], return_counts=True)
        for action in actions[np.argsort(-counts, kind="stable")].tolist():
            this = of_cause & (returns.action == action)
            others = of_cause & ~this
            yield RepairRow(
                cause=str(CAUSES[cause]),
                action=str(ACTIONS[action]),
                num_returns=int(this.sum()),
                failed_7=estimate_failed_share(returns, this, EARLY_DAYS),
                failed_30=estimate_failed_share(returns, this, LATE_DAYS),
                others_30=estimate_failed_share(returns, others, LATE_DAYS),
                p_value=_compare_shares(returns, this & first, others & first),
                q_value=None,
                verdict=RepairVerdict.CANNOT_TELL,
            )


def _find_first_of_node(returns: Returns) -> Flags:
    """The first return of each node, cause and repair whose 30 days are over."""
    over = returns.over(LATE_DAYS)
    keys = np.column_stack([returns.node, returns.cause, returns.action])[over]
    found = np.zeros(len(returns), np.bool_)
    if len(keys):
        found[np.flatnonzero(over)[np.unique(keys, axis=0, return_index=True)[1]]] = True
    return found


def _compare_shares(returns: Returns, this: Flags, others: Flags) -> float | None:
    """The two-sided p-value of a difference in 30 days; None for too few nodes."""
    sizes = int(this.sum()), int(others.sum())
    if min(sizes) < _FEWEST_NODES:
        return None
    from scipy.stats import fisher_exact

    failed = returns.failed(LATE_DAYS)
    hits = int((failed & this).sum()), int((failed & others).sum())
    table = [[hit, size - hit] for hit, size in zip(hits, sizes, strict=True)]
    return float(fisher_exact(table).pvalue)


def _decide_verdict(row: RepairRow, q_value: float | None) -> RepairRow:
    """The row with its verdict."""
    own, others = row.failed_30.value, row.others_30.value
    if q_value is None or own is None or others is None:
        return replace(row, q_value=q_value)
    verdict = RepairVerdict.NO_DIFFERENCE
    if q_value <= _FALSE_DISCOVERY_RATE:
        verdict = RepairVerdict.HOLDS_WORSE if own > others else RepairVerdict.HOLDS_BETTER
    return replace(row, q_value=q_value, verdict=verdict)
