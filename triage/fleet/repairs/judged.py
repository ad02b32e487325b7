"""How right the chances were: told apart, calibrated, and better than a rate alone.

Holds what was said of each return on its day against what came, over returns whose time is over.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.domain.wire import Count, Share, WireForm
from triage.fleet.record.columns import Flags, Floats
from triage.fleet.repairs.returns import estimate_return_share

_NUM_GROUPS: Final = 10
# Below so many returns a group says nothing of 5 points: its own noise is larger.
_FEWEST_IN_GROUP: Final = 10
_SMALLEST: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Decile(WireForm):
    """A tenth of the returns, by what was said: the mean chance, and the share that failed."""

    num_returns: Count
    chance: Share
    observed: Share
    low: Share
    high: Share


@dataclass(frozen=True, slots=True)
class Judged(WireForm):
    """What was said against what came.

    ``auc`` is the chance that of two returns the one that failed had the higher figure (0.5 is
    a coin), None where all failed or none; ``auc_low`` and ``auc_high`` are its 95 % interval.
    ``log_loss`` is beside that of the share of all (``base``) known afterwards.
    """

    within_days: float
    num_returns: Count
    num_failed: Count
    mean_chance: Share | None
    auc: float | None
    auc_low: float | None
    auc_high: float | None
    log_loss: float | None
    base_log_loss: float | None
    deciles: tuple[Decile, ...] = ()


def judge_chances(chances: Floats, failed: Flags, within_days: float) -> Judged:
    """Judge chances of returns whose time is over."""
    count, hits = len(chances), int(np.count_nonzero(failed))
    if not count:
        return Judged(within_days, 0, 0, None, None, None, None, None, None)
    area, low, high = compute_auc(chances, failed)
    base = np.full(count, hits / count)
    return Judged(
        within_days=within_days,
        num_returns=count,
        num_failed=hits,
        mean_chance=float(chances.mean()),
        auc=area,
        auc_low=low,
        auc_high=high,
        log_loss=log_loss(chances, failed),
        base_log_loss=log_loss(base, failed),
        deciles=group_deciles(chances, failed),
    )


def compute_auc(chances: Floats, failed: Flags) -> tuple[float | None, float | None, float | None]:
    """The area under the curve and its interval (Hanley and McNeil, Radiology 143, 1982)."""
    hits, misses = int(np.count_nonzero(failed)), int(np.count_nonzero(~failed))
    if not hits or not misses:
        return None, None, None
    from scipy.stats import rankdata

    ranks = rankdata(chances)
    area = float((ranks[failed].sum() - hits * (hits + 1) / 2) / (hits * misses))
    first, second = area / (2 - area), 2 * area**2 / (1 + area)
    spread = area * (1 - area) + (hits - 1) * (first - area**2) + (misses - 1) * (second - area**2)
    error = 1.96 * float(np.sqrt(max(spread, 0.0) / (hits * misses)))
    return area, max(area - error, 0.0), min(area + error, 1.0)


def log_loss(chances: Floats, failed: Flags) -> float:
    """Mean surprise in nats: the less the better."""
    kept = np.clip(chances, _SMALLEST, 1 - _SMALLEST)
    return float(-np.mean(np.where(failed, np.log(kept), np.log1p(-kept))))


def group_deciles(chances: Floats, failed: Flags) -> tuple[Decile, ...]:
    """Tenths by what was said, the lowest first; fewer groups where there are few returns."""
    groups = min(_NUM_GROUPS, len(chances) // _FEWEST_IN_GROUP)
    found = []
    for rows in np.array_split(np.argsort(chances, kind="stable"), groups) if groups else ():
        hits = int(np.count_nonzero(failed[rows]))
        seen = estimate_return_share(hits, len(rows))
        low, high = seen.low or 0.0, 1.0 if seen.high is None else seen.high
        found.append(Decile(len(rows), float(chances[rows].mean()), hits / len(rows), low, high))
    return tuple(found)
