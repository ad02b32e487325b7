"""Why a node stands as it stands: sentences with figures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from triage.domain.counts import count
from triage.domain.health import CheckResult, Outcome
from triage.domain.probation import Probation
from triage.domain.standing import Grade, Prior, RepeatedPart, Standing
from triage.fleet.record.columns import FleetRecord, Floats, NodeSignals
from triage.fleet.record.node_exposure import NS_PER_DAY
from triage.fleet.standings.strikes import FALSE_DISCOVERY_RATE, WINDOW_DAYS

# Signs: what else speaks against a node besides interruptions.
#
# A failing check is grave, since it is of now. Everything else is a hint: it counts from a number
# that is rare by itself, and only where it is three times what is usual in the fleet, since a
# maintenance takes all nodes out and a software bug prints the same Xid everywhere. Signs never
# make a lemon.

# How often the fleet's mean a count has to be.
_USUAL: Final = 3.0
_LEAST_XIDS: Final = 3
_LEAST_STRAGGLER_HITS: Final = 3
_LEAST_TAKEN_OUT: Final = 3
# Telemetry of 28 days: from where it counts, and how it is said.
_TELEMETRY: Final[Mapping[str, tuple[float, str]]] = {
    "throttled_hours": (24.0, "its GPUs were throttled for {:.0f} h in 28 days"),
    "power_brake_hours": (1.0, "its power brake held its GPUs back for {:.0f} h in 28 days"),
    "ecc_growth": (1.0, "its GPUs met {:.0f} memory errors in 28 days that nothing corrected"),
    "remap_growth": (1.0, "its GPUs remapped {:.0f} more rows in 28 days"),
    "nvlink_growth": (100.0, "its NVLink errors grew by {:.0f} in 28 days"),
    "ib_growth": (1000.0, "the errors of its network ports grew by {:.0f} in 28 days"),
}
# What loads a whole node, as checks are named.
STRESS: Final = ("stress", "burn", "nccl", "dcgm.targeted", "dcgm.diagnostic", "dcgm.memtest")


@dataclass(frozen=True, slots=True)
class Sign:
    """One sign in words; a ``grave`` one puts a node under watch by itself, two others do too."""

    text: str
    grave: bool = False


def collect_signs(
    record: FleetRecord, from_ns: int, *, drains: bool = True
) -> dict[str, tuple[Sign, ...]]:
    """The signs against each node that has any; ``drains`` count from ``from_ns`` on."""
    found: dict[str, list[Sign]] = {}
    for node, signals in record.signals.items():
        if failing := [one for one in signals.checks if one.outcome is Outcome.FAIL]:
            found.setdefault(node, []).append(Sign(_describe_checks(failing), grave=True))
    names = list(record.signals)
    signals_of = [record.signals[name] for name in names]
    for values, least, words in _list_measures(signals_of):
        _add(found, names, values, least, words, len(record.nodes))
    if not drains:
        return {node: tuple(signs) for node, signs in found.items()}
    since = record.outages.start_ns >= from_ns
    taken_out = np.bincount(record.outages.node[since], minlength=len(record.nodes))
    words = "it was taken out of service {:.0f} times"
    counts = taken_out.astype(np.float64)
    _add(found, record.nodes, counts, _LEAST_TAKEN_OUT, words, len(record.nodes))
    return {node: tuple(signs) for node, signs in found.items()}


def _list_measures(signals: list[NodeSignals]) -> list[tuple[Floats, float, str]]:
    """Counts per node, from where they count, and their words."""
    xids = [len(set(node.distinct_xids)) for node in signals]
    hits = [node.straggler_hits for node in signals]
    rows: list[tuple[Floats, float, str]] = [
        (np.array(xids, np.float64), _LEAST_XIDS, "it printed {:.0f} different Xids"),
        (np.array(hits, np.float64), _LEAST_STRAGGLER_HITS, "it was the slow node of {:.0f} jobs"),
    ]
    for key, (least, words) in _TELEMETRY.items():
        rows.append((np.array([one.telemetry.get(key, 0.0) for one in signals]), least, words))
    return rows


def _add(
    found: dict[str, list[Sign]],
    names: tuple[str, ...] | list[str],
    values: Floats,
    least: float,
    words: str,
    num_nodes: int,
) -> None:
    """Nodes of which nothing is known have a count of none, and are part of the mean."""
    if not len(values):
        return
    bound = max(least, _USUAL * float(values.sum()) / max(num_nodes, len(values)))
    for place in np.flatnonzero(values >= bound).tolist():
        found.setdefault(names[place], []).append(Sign(words.format(values[place])))


def _describe_checks(failing: list[CheckResult]) -> str:
    first = min(failing, key=lambda one: (one.check, one.part or ""))
    where = f" on {first.part}" if first.part else ""
    more = f" and {len(failing) - 1} more" if len(failing) > 1 else ""
    return f"check {first.check}{where} fails{more}"


def find_passed_stress_check(record: FleetRecord, node: str, within_days: float) -> str | None:
    """The stress check that the node passed lately, with no check that warns or fails."""
    signals = record.signals.get(node)
    if signals is None:
        return None
    if any(one.outcome in (Outcome.FAIL, Outcome.WARN) for one in signals.checks):
        return None
    since_ns = record.until_ns - within_days * NS_PER_DAY
    passed = [
        one.check
        for one in signals.checks
        if one.outcome is Outcome.PASS
        and one.check.startswith(STRESS)
        and one.at is not None
        and since_ns <= one.at.timestamp() * 1e9 <= record.until_ns
    ]
    return min(passed, default=None)


_GRADES_AGAINST: Final = (Grade.LEMON, Grade.WATCH)


class Figures(NamedTuple):
    """The figures of one node, as :class:`Standing` says them and by its names."""

    strikes: int
    blame: float
    expected: float
    exposure_days: float
    p_value: float
    q_value: float
    score: float
    rate: float | None
    rate_low: float | None
    rate_high: float | None
    forecast: float | None
    forecast_low: float | None
    forecast_high: float | None
    times: float | None


@dataclass(frozen=True, slots=True)
class Words:
    """What the reasons of one node are made from, besides its figures.

    ``leaf`` is the switch that accusations of it are put down to, ``stressed`` the stress check
    that it passed lately; ``rate`` is what it is held against, per 1,000 node-days, and
    ``whose`` rate that is, None for the fleet's. ``outages`` says that these are what counts,
    ``decided`` that forecasts decide who is a lemon, ``called`` that this one's calls the node one.
    """

    rate: float
    signs: tuple[Sign, ...] = ()
    parts: tuple[RepeatedPart, ...] = ()
    leaf: RepeatedPart | None = None
    stressed: str | None = None
    whose: str | None = None
    outages: bool = False
    decided: bool = False
    called: bool = False


def list_grade_reasons(grade: Grade, one: Figures, words: Words) -> tuple[str, ...]:
    """The reasons of a grade; the counts come first, and before them what decided."""
    reasons = [_describe_counts(one, words)]
    if words.decided and (one.strikes or words.called):
        reasons.insert(0 if words.called else 1, _describe_forecast(one))
    if one.strikes and one.rate is not None:
        reasons.append(
            f"rate, shrunk towards the fleet and decayed: {one.rate:.3g} per 1,000 node-days"
            f" (95 %: {one.rate_low:.3g} to {one.rate_high:.3g})"
        )
    if one.strikes > 1 and not words.decided:
        reasons.append(_describe_chance(grade, one))
    reasons += [part.text for part in words.parts]
    if words.leaf is not None:
        reasons.append(f"not held against it: {words.leaf.text}")
    reasons += [sign.text for sign in words.signs]
    if grade is Grade.GOLDEN:
        reasons.append(f"it passed {words.stressed}, and nothing speaks against it")
    return tuple(reasons)


def _describe_counts(one: Figures, words: Words) -> str:
    if words.called and not one.strikes and not words.outages:
        return f"no suspect of the last {WINDOW_DAYS:g} days: the forecast rests on its outages"
    times = count(one.strikes, "interruption")
    stood = f"a suspect in {times}" if one.strikes else "no suspect"
    share = f" (blame {one.blame:.2g})" if one.strikes else ""
    per = f"{words.rate:.3g} per 1,000"
    usual = f"the fleet's {per}" if words.whose is None else f"the {per} of {words.whose}"
    if words.outages:
        out = count(one.strikes, "unplanned outage")
        stood, share = out if one.strikes else "no unplanned outage", ""
    where = "in service" if words.outages else "in runs"
    return (
        f"{stood} of the last {WINDOW_DAYS:g} days{share}, where {one.expected:.2g} is"
        f" expected of {one.exposure_days:.1f} node-days {where} at {usual}"
    )


def _describe_forecast(one: Figures) -> str:
    # "1" would make an expected number look like a count.
    faults, low, high = (
        f"{number:.1f}" if number >= 1 else f"{number:.2g}"
        for number in (one.forecast or 0.0, one.forecast_low or 0.0, one.forecast_high or 0.0)
    )
    return (
        f"{faults} faults are expected of it in the next 56 days (95 %: {low} to {high}),"
        f" {one.times or 0.0:.1f} times as many as of its peers"
    )


def _describe_chance(grade: Grade, one: Figures) -> str:
    level = f"{FALSE_DISCOVERY_RATE:.0%}"
    found = one.q_value <= FALSE_DISCOVERY_RATE
    verdict = {
        Grade.LEMON: f"it stands out at a false-discovery rate of {level}",
        Grade.WATCH: "suspect, not proven",
    }.get(grade, "surely more, and little" if found else "no more than chance in such a fleet")
    return (
        f"chance of as much at that rate: {one.p_value:.2g}; healthy nodes among those that"
        f" stand out as far: {one.q_value:.2g}: {verdict}"
    )


def make_prior(one: Standing, window_days: float) -> Prior | None:
    """What an analysis is told of a node; None where its standing says nothing against it."""
    said = [] if one.grade not in _GRADES_AGAINST else [_describe_grade(one, window_days)]
    if one.probation is not None:
        said.append(_describe_probation(one.probation))
    if not said:
        return None
    text = f"before this incident the node was {'; and it was '.join(said)} (a prior, no evidence)"
    return Prior(one.grade, text, one.probation is not None)


def _describe_grade(one: Standing, window_days: float) -> str:
    word = "a lemon" if one.grade is Grade.LEMON else "under watch"
    if one.strikes:
        times = count(one.strikes, "interruption")
        why = (
            f"a suspect in {times} of the {window_days:g} days before, where {one.expected:.2g}"
            " is expected"
        )
    else:
        why = one.reasons[-1] if one.reasons else "of its record"
    part = f"; {one.part} is named again and again" if one.part else ""
    return f"{word}: {why}{part}"


def _describe_probation(one: Probation) -> str:
    """Short, for a reason has 300 characters."""
    after = f"{one.cause}, {one.action}" if one.action else one.cause
    return (
        f"on probation: back since {one.returned_at:%Y-%m-%d} ({after}), of such returns"
        f" {100 * one.within_7:.0f} % ({100 * one.low_7:.0f} to {100 * one.high_7:.0f}) fail again"
        f" within a week, by {one.num_returns:,} returns"
    )
