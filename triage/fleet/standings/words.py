"""Why a node stands as it stands: sentences with figures."""

from dataclasses import dataclass
from typing import NamedTuple

from triage.domain.standing import Grade, Prior, RepeatedPart, Standing
from triage.fleet.standings.signs import Sign

__all__ = ["Figures", "Words", "prior_of", "reasons_of"]


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


@dataclass(frozen=True, slots=True)
class Words:
    """What the reasons of one node are made from, besides its figures.

    ``leaf`` is the switch that accusations of it are put down to, ``stressed`` the stress check
    that it passed lately; ``rate`` is what it is held against, per 1,000 node-days, and
    ``whose`` rate that is, None for the fleet's.
    """

    rate: float
    window_days: float
    false_discovery_rate: float
    signs: tuple[Sign, ...] = ()
    parts: tuple[RepeatedPart, ...] = ()
    leaf: RepeatedPart | None = None
    stressed: str | None = None
    whose: str | None = None


def reasons_of(grade: Grade, one: Figures, words: Words) -> tuple[str, ...]:
    """The reasons of a grade; the test comes first."""
    reasons = [counted(one, words)]
    if one.strikes and one.rate is not None:
        reasons.append(
            f"rate, shrunk towards the fleet and decayed: {one.rate:.3g} per 1,000 node-days"
            f" (95 %: {one.rate_low:.3g} to {one.rate_high:.3g})"
        )
    if one.strikes > 1:
        reasons.append(chance(grade, one, words))
    reasons += [part.text for part in words.parts]
    if words.leaf is not None:
        reasons.append(f"not held against it: {words.leaf.text}")
    reasons += [sign.text for sign in words.signs]
    if grade is Grade.GOLDEN:
        reasons.append(f"it passed {words.stressed}, and nothing speaks against it")
    return tuple(reasons)


def counted(one: Figures, words: Words) -> str:
    times = f"{one.strikes} interruption{'' if one.strikes == 1 else 's'}"
    stood = f"a suspect in {times}" if one.strikes else "no suspect"
    share = f" (blame {one.blame:.2g})" if one.strikes else ""
    per = f"{words.rate:.3g} per 1,000"
    usual = f"the fleet's {per}" if words.whose is None else f"the {per} of {words.whose}"
    return (
        f"{stood} of the last {words.window_days:g} days{share}, where {one.expected:.2g} is"
        f" expected of {one.exposure_days:.1f} node-days in runs at {usual}"
    )


def chance(grade: Grade, one: Figures, words: Words) -> str:
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


def prior_of(one: Standing, window_days: float) -> Prior | None:
    """What an analysis is told of a node; None where its standing says nothing against it."""
    if one.grade not in (Grade.LEMON, Grade.WATCH):
        return None
    word = "a lemon" if one.grade is Grade.LEMON else "under watch"
    if one.strikes:
        times = f"{one.strikes} interruption{'' if one.strikes == 1 else 's'}"
        why = (
            f"a suspect in {times} of the {window_days:g} days before, where {one.expected:.2g}"
            " is expected"
        )
    else:
        why = one.reasons[-1] if one.reasons else "of its record"
    part = f"; {one.part} is named again and again" if one.part else ""
    return Prior(
        one.grade, f"before this incident the node was {word}: {why}{part} (a prior, no evidence)"
    )
