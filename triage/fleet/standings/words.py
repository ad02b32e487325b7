"""Why a node stands as it stands: sentences with figures."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from triage.domain.counts import count
from triage.domain.probation import Probation
from triage.domain.standing import Grade, Prior, RepeatedPart, Standing
from triage.fleet.standings.signs import Sign

_GRADES_AGAINST: Final = (Grade.LEMON, Grade.WATCH)


class Figures(NamedTuple):
    """The figures of one node, as :class:`Standing` says them and in its order."""

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


class Ahead(NamedTuple):
    """What the next 56 days are to bring one node: faults with their 95 % interval, and ``times``
    those of its peers. ``called`` says that it is named for that; ``decided`` that forecasts
    decide at all.
    """

    faults: float
    low: float
    high: float
    times: float
    called: bool
    decided: bool


@dataclass(frozen=True, slots=True)
class Words:
    """What the reasons of one node are made from, besides its figures.

    ``leaf`` is the switch that accusations of it are put down to, ``stressed`` the stress check
    that it passed lately; ``rate`` is what it is held against, per 1,000 node-days, and
    ``whose`` rate that is, None for the fleet's. ``outages`` says that these are what counts;
    ``ahead`` is the forecast, None where there is none.
    """

    rate: float
    window_days: float
    false_discovery_rate: float
    signs: tuple[Sign, ...] = ()
    parts: tuple[RepeatedPart, ...] = ()
    leaf: RepeatedPart | None = None
    stressed: str | None = None
    whose: str | None = None
    outages: bool = False
    ahead: Ahead | None = None


def list_grade_reasons(grade: Grade, one: Figures, words: Words) -> tuple[str, ...]:
    """The reasons of a grade; the counts come first, and before them what decided."""
    reasons = [_describe_counts(one, words)]
    if words.ahead is not None and words.ahead.decided and (one.strikes or words.ahead.called):
        at = 0 if words.ahead.called else 1
        reasons.insert(at, _describe_forecast(words.ahead))
    if one.strikes and one.rate is not None:
        reasons.append(
            f"rate, shrunk towards the fleet and decayed: {one.rate:.3g} per 1,000 node-days"
            f" (95 %: {one.rate_low:.3g} to {one.rate_high:.3g})"
        )
    if one.strikes > 1 and not (words.ahead is not None and words.ahead.decided):
        reasons.append(_describe_chance(grade, one, words))
    reasons += [part.text for part in words.parts]
    if words.leaf is not None:
        reasons.append(f"not held against it: {words.leaf.text}")
    reasons += [sign.text for sign in words.signs]
    if grade is Grade.GOLDEN:
        reasons.append(f"it passed {words.stressed}, and nothing speaks against it")
    return tuple(reasons)


def _describe_counts(one: Figures, words: Words) -> str:
    called = words.ahead is not None and words.ahead.called
    if called and not one.strikes and not words.outages:
        return (
            f"no suspect of the last {words.window_days:g} days: the forecast rests on its outages"
        )
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
        f"{stood} of the last {words.window_days:g} days{share}, where {one.expected:.2g} is"
        f" expected of {one.exposure_days:.1f} node-days {where} at {usual}"
    )


def _describe_forecast(ahead: Ahead) -> str:
    return (
        f"{_number(ahead.faults)} faults are expected of it in the next 56 days (95 %:"
        f" {_number(ahead.low)} to {_number(ahead.high)}), {ahead.times:.1f} times as many as of"
        " its peers"
    )


def _number(expected: float) -> str:
    """An expected number, which "1" would make look like a count."""
    return f"{expected:.1f}" if expected >= 1 else f"{expected:.2g}"


def _describe_chance(grade: Grade, one: Figures, words: Words) -> str:
    level = f"{words.false_discovery_rate:.0%}"
    found = one.q_value <= words.false_discovery_rate
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
