"""Node standings: who interrupts jobs more than chance explains, and who has a clean record.

Each node is held against the rate of its own generation over its own time in runs. The test
counts a window; the score and the shrunk rate decay, blame and exposure alike, so that what was
mended is forgotten. A grade of ``lemon`` rests on interruptions alone: signs such as Xid kinds,
drains and telemetry may put a node under watch, but they never convict it. Sources: Meta's lemon
detection ("Revisiting Reliability in Large-Scale ML Research Clusters", HPCA 2025), mixtures of
two kinds of nodes with a Bayesian false-discovery rate, and empirical Bayes shrinkage.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.domain.standing import FleetStandings, Grade, RepeatedPart, Standing
from triage.errors import UsageError
from triage.fleet.record.columns import Flags, FleetRecord, Floats, Ints
from triage.fleet.record.node_exposure import NS_PER_DAY, days_since, decayed_days, time_in_runs
from triage.fleet.standings.node_kinds import Kinds, split_kinds
from triage.fleet.standings.own_rates import Groups, groups_of
from triage.fleet.standings.repeated_part import OfLeaves, leaves_standing_out, parts_of_nodes
from triage.fleet.standings.shrinkage import GammaPrior, fit_prior, posterior
from triage.fleet.standings.signs import Sign, passed_stress, signs_of
from triage.fleet.standings.strikes import NS_PER_HOUR, Strikes, episodes, strikes_of, summed
from triage.fleet.standings.words import Figures, Words, reasons_of

__all__ = ["StandingOptions", "fleet_standings", "standings"]

PER: Final = 1000.0
# What is older weighs less than a sixteenth: a node stands the same in a record of any length.
LOOK_BACK: Final = 4.0
WITHOUT_EXPOSURE: Final = "no run of the window names it: without exposure there is no standing"
ORDER: Final = (Grade.LEMON, Grade.WATCH, Grade.NORMAL, Grade.GOLDEN, Grade.UNKNOWN)


@dataclass(frozen=True, slots=True)
class StandingOptions:
    """What decides; times in days and hours.

    A lemon needs, besides the test, ``lemon_strikes`` and a score of ``lemon_times``: what is sure
    and small, or long ago, is no reason to replace a node. (The shrunk rate is shown and decides
    nothing: one Gamma holds a single lemon among equals for chance.) A watched node needs
    ``watch_strikes``: one is noise in a fleet of any size. Strikes of one node within
    ``episode_h`` of each other are one. A golden node was in runs for ``golden_days`` without
    any blame, and passed a stress check in the last ``stress_days``.
    """

    half_life_days: float = 28.0
    window_days: float = 56.0
    false_discovery_rate: float = 0.05
    episode_h: float = 1.0
    lemon_strikes: int = 3
    lemon_times: float = 3.0
    watch_strikes: int = 2
    golden_days: float = 28.0
    stress_days: float = 30.0

    def __post_init__(self) -> None:
        if not 0 < self.false_discovery_rate < 1:
            raise UsageError("a false-discovery rate lies between 0 and 1; 0.05 is usual")
        if min(self.half_life_days, self.window_days) <= 0:
            raise UsageError("half-life and window are days, and more than none")


def standings(
    record: FleetRecord, *, options: StandingOptions | None = None
) -> tuple[Standing, ...]:
    """The standing of every node of the record, the worst first; see :func:`fleet_standings`."""
    return fleet_standings(record, options=options).nodes


def fleet_standings(
    record: FleetRecord, *, options: StandingOptions | None = None
) -> FleetStandings:
    """The standings, and what they were held against.

    A node that no run names has no exposure: its grade is ``unknown``, and it says so.
    """
    options = options or StandingOptions()
    seen = measured(record, options)
    parts = parts_of_nodes(record, seen.strikes)
    rows = list(graded(record, seen, options, parts))
    rows.sort(key=lambda row: (ORDER.index(row.grade), -(row.score or 0.0), row.node))
    found = [part for node in sorted(parts) for part in parts[node]]
    found.sort(key=lambda part: (-part.interruptions, part.node or "", part.name))
    return FleetStandings(
        nodes=tuple(rows),
        parts=(*seen.leaves.parts, *found),
        fleet_rate=PER * seen.kinds.fleet_rate if seen.num_tested else None,
        prior_shape=seen.prior.shape if seen.prior else None,
        prior_days=seen.prior.days if seen.prior else None,
        num_tested=seen.num_tested,
        window_days=options.window_days,
        half_life_days=options.half_life_days,
        false_discovery_rate=options.false_discovery_rate,
        notes=tuple(notes_of(seen, options)),
    )


def notes_of(seen: "Measures", options: StandingOptions) -> Iterator[str]:
    """What is missing, in words."""
    if left_out := seen.strikes.num_left_out:
        yield (
            f"{left_out} accusation{'' if left_out == 1 else 's'} not counted: no run is known"
            " with that node in it, so there is no exposure to hold"
            f" {'it' if left_out == 1 else 'them'} against"
        )
    if unknown := int(np.count_nonzero(seen.days <= 0)):
        yield (
            f"{unknown} of {len(seen.days)} nodes without a standing: no run of the last"
            f" {options.window_days:g} days names them"
        )
    yield from seen.groups.notes(seen.kinds.rate, seen.days, PER)


@dataclass(frozen=True, slots=True)
class Measures:
    """Everything that grades are made from; arrays have one value per node.

    ``strikes`` look back over ``LOOK_BACK`` half-lives, without those of a leaf that stands out;
    so do ``decayed`` and ``decayed_days``. ``num``, ``blame`` and ``days`` are of the window.
    """

    strikes: Strikes
    leaves: OfLeaves
    num: Ints
    blame: Floats
    days: Floats
    decayed: Floats
    decayed_days: Floats
    ever: Flags
    kinds: Kinds
    groups: Groups
    prior: GammaPrior | None
    rate: tuple[Floats, Floats, Floats] | None
    signs: Mapping[str, tuple[Sign, ...]]
    num_tested: int


def measured(record: FleetRecord, options: StandingOptions) -> Measures:
    num_nodes, until_ns = len(record.nodes), record.until_ns
    half_life = options.half_life_days
    from_ns = max(record.since_ns, until_ns - int(options.window_days * NS_PER_DAY))
    back_ns = max(record.since_ns, until_ns - int(LOOK_BACK * half_life * NS_PER_DAY))
    back_ns = min(back_ns, from_ns)
    runs = record.runs
    days, weighed_days = time_in_runs(
        runs,
        num_nodes,
        (
            lambda at_ns: days_since(at_ns, from_ns),
            lambda at_ns: decayed_days(np.maximum(at_ns, back_ns), until_ns, half_life),
        ),
    )
    everything = strikes_of(record)
    everything = everything.where(everything.at_ns >= back_ns)
    leaves = leaves_standing_out(record, everything, from_ns, days, options.false_discovery_rate)
    strikes = episodes(everything.where(~leaves.explained), int(options.episode_h * NS_PER_HOUR))
    now = strikes.at_ns >= from_ns
    blame = summed(strikes.node[now], strikes.blame[now], num_nodes)
    age_days = (until_ns - strikes.at_ns) / NS_PER_DAY
    weights = strikes.blame * np.exp2(-age_days / half_life)
    decayed = summed(strikes.node, weights, num_nodes)
    prior = fit_prior(blame, days)
    groups = groups_of(record.generation)
    return Measures(
        strikes=strikes,
        leaves=leaves,
        num=np.bincount(strikes.node[now], minlength=num_nodes),
        blame=blame,
        days=days,
        decayed=decayed,
        decayed_days=weighed_days,
        ever=np.bincount(everything.node, minlength=num_nodes) > 0,
        kinds=split_kinds(strikes.node[now], strikes.blame[now], days, groups),
        groups=groups,
        prior=prior,
        rate=None if prior is None else posterior(prior, decayed, weighed_days),
        signs=signs_of(record, from_ns),
        num_tested=int(np.count_nonzero(days > 0)),
    )


def graded(
    record: FleetRecord,
    seen: Measures,
    options: StandingOptions,
    parts: Mapping[int, tuple[RepeatedPart, ...]],
) -> Iterator[Standing]:
    """The standing of each node, in the order of the record."""
    for node, (name, figures) in enumerate(zip(record.nodes, figures_of(seen), strict=True)):
        if figures.exposure_days <= 0:
            leaf, rack = record.leaf_switch[node], record.rack[node]
            reasons = (WITHOUT_EXPOSURE,)
            yield Standing(name, Grade.UNKNOWN, reasons, leaf_switch=leaf, rack=rack)
            continue
        words = Words(
            PER * float(seen.kinds.rate[node]),
            options.window_days,
            options.false_discovery_rate,
            seen.signs.get(name, ()),
            parts.get(node, ()),
            seen.leaves.behind(record, node),
            passed_stress(record, name, options.stress_days),
            whose_rate(seen, node),
        )
        clean = not seen.ever[node] and not words.signs and words.stressed is not None
        grade = grade_of(figures, words.signs, seen.num_tested, options, clean=clean)
        part = words.parts[0].name if words.parts else None
        where_it_is = (record.leaf_switch[node], record.rack[node])
        yield Standing(name, grade, reasons_of(grade, figures, words), *figures, part, *where_it_is)


def whose_rate(seen: Measures, node: int) -> str | None:
    """Whose rate a node is held against, in words; None where there is only the fleet's."""
    if len(seen.groups.names) < 2:
        return None
    name = seen.groups.names[seen.groups.of[node]]
    return "nodes of no known generation" if name is None else f"its generation ({name})"


def figures_of(seen: Measures) -> Iterator[Figures]:
    """The figures of each node."""
    usual = seen.kinds.rate * seen.decayed_days
    with np.errstate(invalid="ignore", divide="ignore"):
        score = np.where(usual > 0, seen.decayed / usual, 0.0)
    nothing = [None] * len(score)
    rates = [(PER * one).tolist() for one in seen.rate] if seen.rate else [nothing] * 3
    kinds = seen.kinds
    columns = (seen.num, seen.blame, kinds.expected, seen.days, kinds.p, kinds.q)
    return map(Figures, *(one.tolist() for one in (*columns, score)), *rates)


def grade_of(
    figures: Figures,
    signs: Sequence[Sign],
    num_tested: int,
    options: StandingOptions,
    *,
    clean: bool,
) -> Grade:
    """The grade of a node with exposure; ``clean`` says that it may be golden."""
    found = figures.q_value <= options.false_discovery_rate
    if found and figures.strikes >= options.lemon_strikes and figures.score >= options.lemon_times:
        return Grade.LEMON
    # Fewer than one node of this fleet would have come so far by chance.
    unlikely = figures.p_value * num_tested < 1.0
    if figures.strikes >= options.watch_strikes and unlikely:
        return Grade.WATCH
    if any(sign.grave for sign in signs) or len(signs) > 1:
        return Grade.WATCH
    long = figures.exposure_days >= options.golden_days
    return Grade.GOLDEN if clean and long else Grade.NORMAL
