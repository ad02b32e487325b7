"""How likely a returned node fails again: two logistic regressions with few, held-back weights.

One for the first 7 days, one for the days 7 to 30 of those that had no fault before. Each is
fitted to the returns whose time is over, and held to the weights of ``features`` by a normal
prior: a young record says what public records do, an old one what it saw itself. Older returns
count less (half a year). The same record gives the same figures.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.domain.wire import Count, Share, WireForm
from triage.fleet.record.columns import Flags, Floats
from triage.fleet.repairs.features import (
    EARLY_DAYS,
    FEATURES,
    LATE_DAYS,
    LATE_FEATURES,
    Features,
    Weight,
)
from triage.fleet.repairs.returns import Returns, estimate_return_share

_HALF_LIFE_DAYS: Final = 182.0
REFIT_DAYS: Final = 1.0
# A record of more returns is fitted once a week: its weights hardly move in between.
_MANY_RETURNS: Final = 5_000
_REFIT_MANY_DAYS: Final = 7.0
_ROUNDS: Final = 40
_LARGEST_STEP: Final = 1.0
_ENOUGH: Final = 1e-6
_TWO_SIDED_95: Final = 1.96


@dataclass(frozen=True, slots=True)
class Fit:
    """The weights, their covariance, and how many returns they rest on."""

    weights: Floats
    covariance: Floats
    num_returns: int

    def log_odds(self, rows: Floats) -> tuple[Floats, Floats]:
        """The log odds of each row, and their standard error."""
        return rows @ self.weights, np.sqrt(np.sum((rows @ self.covariance) * rows, axis=1))


Model = tuple[Fit, Fit]
"""The fit of the first 7 days and that of the days 7 to 30, as of a day."""


@dataclass(frozen=True, slots=True)
class Chances:
    """Of each return: the chance of a fault within 7 days, with 95 % bounds, and within 30.

    ``num_returns`` is on how many returns each rests.
    """

    within_7: Floats
    low_7: Floats
    high_7: Floats
    within_30: Floats
    num_returns: Floats


def fit_model(
    returns: Returns, features: Features, day: float, start: Model | None = None
) -> Model:
    """The model as of ``day``, from what was over by then; ``start`` is where the search begins."""
    week = returns.over(EARLY_DAYS, day)
    month = returns.over(LATE_DAYS, day) & ~returns.failed(EARLY_DAYS)
    trust = np.exp2(-np.maximum(day - returns.day, 0.0) / _HALF_LIFE_DAYS)
    failed = returns.failed(EARLY_DAYS)[week], returns.failed(LATE_DAYS)[month]
    begin = (None, None) if start is None else (start[0].weights, start[1].weights)
    return (
        _fit(features.early[week], failed[0], trust[week], FEATURES, begin[0]),
        _fit(features.late[month], failed[1], trust[month], LATE_FEATURES, begin[1]),
    )


def _fit(
    rows: Floats, failed: Flags, trust: Floats, prior: Sequence[Weight], start: Floats | None = None
) -> Fit:
    """The weights of highest posterior density, by Newton's method, and their covariance."""
    mean = np.array([one.mean for one in prior])
    precision = np.diag([one.sd**-2 for one in prior])
    weights = mean if start is None else start
    curvature = precision
    for _ in range(_ROUNDS):
        said = _convert_log_odds(rows @ weights)
        slope = rows.T @ (trust * (failed - said)) - precision @ (weights - mean)
        curvature = rows.T @ (rows * (trust * said * (1 - said))[:, None]) + precision
        step = np.linalg.solve(curvature, slope)
        largest = float(np.abs(step).max())
        weights = weights + step * min(1.0, _LARGEST_STEP / max(largest, _ENOUGH))
        if largest < _ENOUGH:
            break
    return Fit(weights, np.linalg.inv(curvature), len(rows))


def predict_chances(model: Model, features: Features) -> Chances:
    """What the model says of returns with these features."""
    early, error = model[0].log_odds(features.early)
    within_7, low_7, high_7 = (
        _convert_log_odds(early + sign * _TWO_SIDED_95 * error) for sign in (0, -1, 1)
    )
    rest = _convert_log_odds(features.late @ model[1].weights)
    number = np.full(len(early), float(model[0].num_returns))
    return Chances(within_7, low_7, high_7, 1 - (1 - within_7) * (1 - rest), number)


def walk_forward(returns: Returns, features: Features) -> Chances:
    """What was said of each return on its day, by the model as it was at the day's begin."""
    parts: list[Chances] = []
    model: Model | None = None
    step = REFIT_DAYS if len(returns) <= _MANY_RETURNS else _REFIT_MANY_DAYS
    period = np.floor(returns.day / step)
    for number in np.unique(period).tolist():
        now = period == number
        model = fit_model(returns, features, number * step, model)
        parts.append(predict_chances(model, Features(features.early[now], features.late[now])))
    none = np.zeros(0)
    return Chances(
        *(
            np.concatenate([none, *(getattr(one, name) for one in parts)])
            for name in Chances.__slots__
        )
    )


def _convert_log_odds(log_odds: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -30, 30))), np.float64)


# How right the chances were: told apart, calibrated, and better than a rate alone.
#
# Holds what was said of each return on its day against what came, over returns whose time is over.

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
