"""Node standings: who is to fail more than its peers, and who has a clean record.

Where the record shows that faults come back to the same nodes, the forecast of the next 56 days
decides who is a lemon. Where it is too short for that, a test does: more blame within a window
than chance and the rate of the node's place explain. Both rest on interruptions, or on outages
where no run is known: signs such as Xid kinds, drains and telemetry may put a node under watch,
but they never convict it. Sources: Meta's lemon detection ("Revisiting Reliability in Large-Scale
ML Research Clusters", HPCA 2025), false-discovery rates, and Gamma-Poisson shrinkage.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from triage.domain.counts import count
from triage.domain.standing import FleetStandings, Grade, Place, RepeatedPart, Standing
from triage.fleet.record.columns import FleetRecord
from triage.fleet.standings.forecast import CallRule, compute_gamma_interval
from triage.fleet.standings.measures import OUTAGES, Measures, measure_record
from triage.fleet.standings.parts import map_repeated_parts
from triage.fleet.standings.places import PlaceRate, describe_place
from triage.fleet.standings.strikes import FALSE_DISCOVERY_RATE, WINDOW_DAYS
from triage.fleet.standings.words import (
    Figures,
    Words,
    find_passed_stress_check,
    list_grade_reasons,
)

_PER: Final = 1000.0
# Racks are many; the surest come first.
_MOST_PLACES: Final = 100
_WITHOUT_EXPOSURE: Final = "no run of the window names it: without exposure there is no standing"
_AWAY_THROUGHOUT: Final = "it was out of service throughout: without exposure there is no standing"
_CHANCE: Final = 0.05
# A lemon needs these besides the test: what is sure and small, or long ago, is no reason to replace
# a node.
_LEMON_STRIKES: Final = 3
_LEMON_TIMES: Final = 3.0
# One is noise in a fleet of any size.
_WATCH_STRIKES: Final = 2
# In runs for so long without any blame, with a stress check passed that lately.
_GOLDEN_DAYS: Final = 28.0
_STRESS_DAYS: Final = 30.0
_ORDER: Final = (Grade.LEMON, Grade.WATCH, Grade.NORMAL, Grade.GOLDEN, Grade.UNKNOWN)


def fleet_standings(record: FleetRecord) -> FleetStandings:
    """The standings, and what they were held against.

    A node that no run names has no exposure: its grade is ``unknown``, and it says so.
    """
    seen = measure_record(record)
    parts = map_repeated_parts(record, seen.strikes) if seen.basis != OUTAGES else {}
    rows = list(_iterate_standings(record, seen, parts))
    rows.sort(key=lambda row: _get_sort_key(row, seen))
    found = [part for node in sorted(parts) for part in parts[node]]
    found.sort(key=lambda part: (-part.interruptions, part.node or "", part.name))
    return FleetStandings(
        nodes=tuple(rows),
        parts=(*seen.leaves.parts, *found),
        fleet_rate=_PER * seen.excess.rate if seen.num_tested else None,
        num_tested=seen.num_tested,
        window_days=WINDOW_DAYS,
        false_discovery_rate=FALSE_DISCOVERY_RATE,
        notes=tuple(_iterate_notes(seen)),
        basis=seen.basis,
        walked=seen.calls.walked if seen.calls is not None else None,
        places=tuple(place_of(row) for row in seen.places[:_MOST_PLACES]),
    )


def place_of(row: PlaceRate) -> Place:
    """A place in the form that is sent."""
    ratio = row.ratio
    return Place(
        row.kind, row.name, row.members, row.events, row.rate.value, row.rate_of_rest.value,
        ratio.value, ratio.low, ratio.high, row.p_value, row.q_value, row.found,
        describe_place(row),
    )  # fmt: skip


def _get_sort_key(row: Standing, seen: Measures) -> tuple[int, float, str]:
    """The worst first: by grade, then by what decides."""
    decides = row.times if seen.calls is not None and seen.calls.decided else row.score
    return _ORDER.index(row.grade), -(decides or 0.0), row.node


def _iterate_notes(seen: Measures) -> Iterator[str]:
    """What is missing, what counts, and how calls of the past came out, in words."""
    if left_out := seen.num_left_out:
        yield (
            f"{count(left_out, 'accusation')} not counted: no run is known"
            " with that node in it, so there is no exposure to hold"
            f" {'it' if left_out == 1 else 'them'} against"
        )
    if seen.basis == OUTAGES:
        yield ("no interruption names a node: unplanned outages count, over the time in service")
    elif seen.calls is not None and len(seen.history) and not len(seen.strikes.node):
        yield "no interruption names a node: forecasts rest on unplanned outages alone"
    if unknown := int(np.count_nonzero(seen.days <= 0)):
        why = "they were out of service" if seen.basis == OUTAGES else "no run"
        names = "" if seen.basis == OUTAGES else " names them"
        yield (
            f"{unknown} of {len(seen.days)} nodes without a standing: {why} of the last"
            f" {WINDOW_DAYS:g} days{names}"
        )
    if aside := len(seen.special):
        yield (
            f"{count(aside, 'node')} set aside:"
            f" {'it does' if aside == 1 else 'they do'} other work than the rest"
        )
    yield from (describe_place(row) for row in seen.places if row.found)
    yield from _iterate_call_notes(seen)


def _iterate_call_notes(seen: Measures) -> Iterator[str]:
    """What decides, and how calls of the past came out."""
    calls = seen.calls
    if calls is None:
        return
    if not calls.decided:
        if calls.now.chance > _CHANCE:
            yield (
                "faults come back to the same nodes no more than by chance"
                f" (p = {calls.now.chance:.2g}): forecasts call no node a lemon"
            )
        return
    fading = calls.now.fading
    fast = f"half-lives of {fading.fast:g} and" if fading.gain else "a half-life of"
    yield f"forecasts count faults with {fast} {fading.slow:g} days, as the record's own past says"
    if calls.walked is None:
        yield "no call of the past is over yet: how often calls are right cannot be told"
        return
    walked = calls.walked
    yield (
        f"of {walked.calls} nodes called lemons before, {walked.failed} failed within"
        f" {walked.days:g} days: {walked.precision:.0%} (95 %: {walked.precision_low:.0%} to"
        f" {walked.precision_high:.0%}); a called node had {walked.faults_per_call:.2f} faults, any"
        f" node {walked.faults_per_node:.2f}"
    )


def _iterate_standings(
    record: FleetRecord,
    seen: Measures,
    parts: Mapping[int, tuple[RepeatedPart, ...]],
) -> Iterator[Standing]:
    """The standing of each node, in the order of the record."""
    decided = seen.calls is not None and seen.calls.decided
    for node, (name, figures) in enumerate(zip(record.nodes, _iterate_figures(seen), strict=True)):
        leaf, rack = record.leaf_switch[node], record.rack[node]
        if figures.exposure_days <= 0 or node in seen.special:
            why = _AWAY_THROUGHOUT if seen.basis == OUTAGES else _WITHOUT_EXPOSURE
            special = seen.special.get(node)
            yield Standing(
                name, Grade.UNKNOWN, (special or why,), leaf_switch=leaf, rack=rack, special=special
            )
            continue
        # Whose rate it is held against, in words; None where there is only the fleet's.
        place = seen.own.get(node)
        whose = None if place is None else f"its {place[0].replace('_', ' ')} ({place[1]})"
        words = Words(
            _PER * float(seen.rate[node]),
            seen.signs.get(name, ()),
            parts.get(node, ()),
            seen.leaves.behind(record, node),
            find_passed_stress_check(record, name, _STRESS_DAYS),
            whose,
            seen.basis == OUTAGES,
            decided,
            seen.calls is not None and bool(seen.calls.called[node]),
        )
        clean = not seen.ever[node] and not words.signs and words.stressed is not None
        grade = _choose_grade(figures, words, seen.num_tested, clean=clean)
        part = words.parts[0].name if words.parts else None
        reasons = list_grade_reasons(grade, figures, words)
        yield Standing(
            name, grade, reasons, **figures._asdict(), part=part, leaf_switch=leaf, rack=rack
        )


def _iterate_figures(seen: Measures) -> Iterator[Figures]:
    """The figures of each node."""
    usual = seen.rate * seen.decayed_days
    with np.errstate(invalid="ignore", divide="ignore"):
        score = np.where(usual > 0, seen.decayed / usual, 0.0)
    nothing = [None] * len(score)
    rates = [(_PER * one).tolist() for one in seen.shrunk] if seen.shrunk else [nothing] * 3
    ahead = [nothing] * 4
    if seen.calls is not None:
        now = seen.calls.now
        bounds = compute_gamma_interval(now.faults, now.weight)
        ahead = [one.tolist() for one in (now.faults, *bounds, now.times)]
    excess = seen.excess
    columns = (seen.num, seen.blame, excess.expected, seen.days, excess.p, excess.q)
    return map(Figures, *(one.tolist() for one in (*columns, score)), *rates, *ahead)


def _choose_grade(figures: Figures, words: Words, num_tested: int, *, clean: bool) -> Grade:
    """The grade of a node with exposure; ``clean`` says that it may be golden."""
    if words.called:
        return Grade.LEMON
    found = figures.q_value <= FALSE_DISCOVERY_RATE
    if found and figures.strikes >= _LEMON_STRIKES and figures.score >= _LEMON_TIMES:
        return Grade.WATCH if words.decided else Grade.LEMON
    if words.decided and (figures.times or 0.0) >= CallRule().times and figures.strikes:
        return Grade.WATCH
    # Fewer than one node of this fleet would have come so far by chance.
    unlikely = figures.p_value * num_tested < 1.0
    if figures.strikes >= _WATCH_STRIKES and unlikely:
        return Grade.WATCH
    if any(sign.grave for sign in words.signs) or len(words.signs) > 1:
        return Grade.WATCH
    long = figures.exposure_days >= _GOLDEN_DAYS
    return Grade.GOLDEN if clean and long else Grade.NORMAL
