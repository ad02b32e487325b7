"""Spares from the record's own outages: what sufficed, and what will suffice.

Two answers that are kept apart. **In sample**: the fewest spares with which the nodes were there
for 99 % of the record's time; a fact. **Forecast**: those that are to do so in the next period of
the same length. The forecast takes the method ``clusters``, and ``drifting`` where that foretold
held-out stretches of this record far better. It does not take whichever did best: on planted
fleets the best of one short record was the luckiest, and foretold the time after worse than
``clusters`` did (docs/spares.md has the table).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Final

import numpy as np

from triage.domain.arrays import F64, Flags
from triage.domain.counts import count
from triage.domain.wire import UNSENT, Count, Share, WireForm
from triage.statistics.away.methods import METHODS, Law, cluster_ids, fit_laws
from triage.statistics.away.steps import Away, cut_outages, cut_period
from triage.statistics.estimate import LEVEL, Estimate
from triage.statistics.next_period import Drift, compute_ratio_bounds, judge_drift
from triage.statistics.rates import count_bounds

_CONFIDENCE: Final = 0.99
# ``drifting`` has to lose less than this share of what ``clusters`` loses.
_FAR_BETTER: Final = 0.5
# A record that is worth fewer independent looks than this foretells nothing.
_FEWEST_LOOKS: Final = 3.0
# A forecast that covered less of held-out time is doubted aloud.
_HOLDS: Final = 0.95
# Where fewer outages ended, nobody knows how long one lasts.
_FEWEST_ENDED: Final = 5


# Walking forward: the outages up to a day, then the share of the following stretch in which the
# spares sufficed, and the loss of the 99 % quantile (pinball: a node that is short costs 99 times
# one that idles).

_CUTS: Final = (0.4, 0.55, 0.7, 0.85)
"""Where in the record a stretch begins; each lasts to the next, the last to the end."""
_FEWEST_CLUSTERS: Final = 10
"""Clusters of outages without which nothing is foretold."""


HeldOut = Mapping[str, tuple[float, float]]
"""By method: the share of held-out time in which the spares sufficed, and the pinball loss."""
_UNTRIED: Final = (None, None)


def evaluate_held_out(outages: Away, confidence: float) -> HeldOut:
    """How each method did, on average; empty where no stretch has enough before it."""
    rows: dict[str, list[tuple[float, float]]] = {name: [] for name in METHODS}
    for begin, end in zip(_CUTS, (*_CUTS[1:], 1.0), strict=True):
        before = outages.start < begin * outages.days
        known = cut_outages(
            outages.start[before],
            np.minimum(outages.end[before], begin * outages.days),
            begin * outages.days,
        )
        if not len(known) or cluster_ids(known)[-1] + 1 < _FEWEST_CLUSTERS:
            continue
        after = cut_period(outages, begin * outages.days, end * outages.days)
        for name, law in fit_laws(known).items():
            spares = law.quantile(confidence)
            rows[name].append(
                (after.covered(spares), compute_pinball_loss(after, spares, confidence))
            )
    means = {name: np.mean(pairs, axis=0) for name, pairs in rows.items() if pairs}
    return {name: (float(mean[0]), float(mean[1])) for name, mean in means.items()}


def compute_pinball_loss(outages: Away, spares: int, confidence: float) -> float:
    """The mean of ``confidence`` x nodes short, or (1 - ``confidence``) x spares that idle."""
    beyond = np.arange(len(outages.share)) - spares
    each = np.where(beyond > 0, confidence * beyond, (confidence - 1) * beyond)
    return float(outages.share @ each)


@dataclass(frozen=True, slots=True)
class SparesAt(WireForm):
    """Spares by one method at the asked confidence, and how it did on held-out time.

    ``covered`` and ``loss`` are None where the record is too short to hold any out.
    """

    method: str
    spares: int
    covered: float | None
    loss: float | None


@dataclass(frozen=True, slots=True)
class SparesForecast:
    """``in_sample`` and ``forecast`` at ``confidence``.

    ``forecast.value`` is None where the record cannot tell; ``high`` is then a bound, and the
    notes say why. Its interval holds what the next period of the same length will have needed.
    ``departures`` is how many times nodes went away, together or alone; ``looks`` how many
    independent looks at the fleet the record is worth. ``law`` says how many are away in the
    time to come; ``began`` are the days on which the outages of ``seen`` began.
    """

    num_nodes: Count
    outages: Count
    departures: Count
    looks: float
    mean_away: float
    confidence: Share
    in_sample: Count
    forecast: Estimate
    method: str
    methods: tuple[SparesAt, ...]
    drift: Drift
    law: Annotated[Law, UNSENT] = field(compare=False)
    seen: Annotated[Away, UNSENT] = field(compare=False)
    began: Annotated[F64, UNSENT] = field(compare=False)

    @property
    def in_sample_covers(self) -> Share:
        """The share of the record's time in which so many sufficed."""
        return self.seen.covered(self.in_sample)

    def at(self, confidence: float) -> Estimate:
        """The forecast at another confidence; a bound stays one."""
        spares = min(self.law.quantile(confidence), self.num_nodes)
        said = _estimate_interval(self.seen, spares, confidence, self.num_nodes)
        if self.forecast.value is None:
            high = bound(self.seen, self.departures, said, self.num_nodes)
            said = replace(said, value=None, low=None, high=high)
        return replace(said, n=self.departures, notes=self.forecast.notes)


def forecast_spares(
    outages: Away,
    num_nodes: int,
    *,
    begun: Flags | None = None,
    walk: bool = True,
) -> SparesForecast:
    """Spares for the nodes that the record is of.

    ``begun`` is parallel to the outages: whether each began within the record. Without ``walk``
    nothing is held out, and other methods than that of the forecast are left out.
    """
    confidence, lasting = _CONFIDENCE, outages.end >= outages.days
    clusters = cluster_ids(outages)
    arrived = outages.start > 0 if begun is None else begun
    number = len(np.unique(clusters[arrived]))
    began = outages.start[arrived]
    trend = judge_drift(began, outages.days)
    whole = _with_whole_lengths(outages, begun, lasting)
    tried: HeldOut = evaluate_held_out(outages, confidence) if walk else {}
    is_drifting = tried and tried["drifting"][1] < _FAR_BETTER * tried["clusters"][1]
    method = "drifting" if is_drifting else "clusters"
    laws = fit_laws(outages, whole) if walk else fit_laws(outages, whole, (method,))
    law, later = laws[method], None
    if trend.way in ("rose", "fell"):
        later = fit_laws(_select_later_half(outages), _select_later_half(whole), (method,))[method]
    if later is not None and trend.way == "rose":
        law = Law.larger(law, later)
    looks = float(min(outages.worth, outages.days * 24)) if outages.variance else 0.0
    why_not = _list_reasons_against_forecast(outages, number, looks, int((~lasting).sum()))
    spares = min(law.quantile(confidence), num_nodes)
    in_sample = outages.quantile(confidence)
    forecast = _estimate_interval(outages, spares, confidence, num_nodes)
    if why_not:
        high = bound(outages, number, forecast, num_nodes)
        forecast = replace(forecast, value=None, low=None, high=high)
    told = (
        *_describe_drift(trend, laws[method], later, confidence),
        *_describe_doubts(tried, method),
    )
    return SparesForecast(
        num_nodes,
        len(outages),
        number,
        looks,
        outages.mean,
        confidence,
        in_sample,
        replace(forecast, n=number, notes=(*why_not, *told)),
        method,
        tuple(
            SparesAt(name, min(one.quantile(confidence), num_nodes), *tried.get(name, _UNTRIED))
            for name, one in laws.items()
        ),
        trend,
        law,
        outages,
        began,
    )


def _select_later_half(outages: Away) -> Away:
    """The second half; outages that last beyond its end keep their length."""
    half = outages.days / 2
    within = outages.end > half
    start = np.maximum(outages.start[within] - half, 0.0)
    return Away(start, outages.end[within] - half, half)


def _with_whole_lengths(outages: Away, begun: Flags | None, lasting: Flags) -> Away:
    """Outages that last beyond the end get as long again, where the record began with none.

    A record that knows of no node that was away at its start (of fewer than half of the usual)
    has lost as much time there as the outages at its end have still to come. The longer one has
    lasted, the longer it will.
    """
    at_start = 0 if begun is None else int((~begun).sum())
    if not lasting.any() or at_start > outages.mean / 2:
        return outages
    longer = np.minimum(2 * outages.end - outages.start, 2 * outages.days)
    return Away(outages.start, np.where(lasting, longer, outages.end), outages.days)


def _estimate_interval(outages: Away, spares: int, confidence: float, num_nodes: int) -> Estimate:
    """The forecast, with bounds of what a period to come will have needed.

    The lower one is not above the mean: a period without a batch needs little more than that.
    """
    effective = outages.mean**2 * outages.days / outages.long_run if outages.long_run else 1.0
    low, high = compute_ratio_bounds(max(effective, 1.0))
    needed = outages.quantile(confidence)
    return Estimate(
        float(spares),
        float(min(np.floor(needed * low), np.floor(outages.mean), spares)),
        float(min(max(np.ceil(max(needed, 1) * high), spares), num_nodes)),
        0,
        "nodes",
        LEVEL,
    )


def bound(outages: Away, number: int, forecast: Estimate, num_nodes: int) -> float | None:
    """What a record that cannot tell allows at most; None where it has no outage at all."""
    if not number or forecast.high is None:
        return None
    most = count_bounds(number)[1] / number
    worst = max(len(outages.share) - 1, forecast.high)
    return float(min(np.ceil(worst * most), num_nodes))


def _list_reasons_against_forecast(
    outages: Away, number: int, looks: float, ended: int
) -> tuple[str, ...]:
    """Why nothing is foretold; empty where something is."""
    if not number:
        seen = f"no outage began in {count(round(outages.days), 'day')}"
        before = f" ({len(outages)} open at their start)" if len(outages) else ""
        return (f"cannot tell: {seen}{before}: nothing to plan spares by",)
    if number < _FEWEST_CLUSTERS:
        times = f"nodes went away {count(number, 'time')} ({count(len(outages), 'outage')})"
        return (f"cannot tell: {times}, and {_FEWEST_CLUSTERS} are needed: a bound only",)
    if ended < _FEWEST_ENDED:
        return (
            f"cannot tell: {ended} of {len(outages)} outages ended in {outages.days:.0f} days, so"
            " how long one lasts is not known: a bound only",
        )
    if looks < _FEWEST_LOOKS:
        return (
            f"cannot tell: the number away moves so slowly that {outages.days:.0f} days are"
            f" worth {looks:.1f} independent looks at the fleet: a bound only",
        )
    return ()


def _describe_drift(
    trend: Drift, law: Law, later: Law | None, confidence: float
) -> tuple[str, ...]:
    """Which way the rate went, and what that did to the forecast."""
    if later is None or trend.ratio.value is None:
        return ()
    whole, recent = law.quantile(confidence), later.quantile(confidence)
    went = f"the rate of outages {trend.way}: {trend.ratio.value:.2f} times the first half's"
    if trend.way == "fell":
        return (f"{went}; the forecast keeps the whole record, its later half needs {recent}",)
    return (
        f"{went}; the forecast is the larger of the whole record ({whole}) and its later half"
        f" ({recent}), and is too low if the rate rises on",
    )


def _describe_doubts(tried: HeldOut, method: str) -> tuple[str, ...]:
    """How badly the method foretold this very record, where it did."""
    covered, _ = tried.get(method, (1.0, 0.0))
    if covered >= _HOLDS:
        return ()
    return (
        f"foretold from what was before, {covered:.0%} of this record's later time was covered:"
        " its worst times came without a sign",
    )
