"""What grades are made from: strikes and exposure of each node, forecasts, signs.

Where runs name nodes, a strike is an interruption that a node stood as a suspect of, and exposure
is its time in runs. Where none does, a strike is an unplanned outage, and exposure is the time in
service: the record's less the time away.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.domain.patterns import compile_re
from triage.fleet.record.columns import Flags, FleetRecord, Floats, Ints
from triage.fleet.record.node_exposure import (
    NS_PER_DAY,
    find_times_in_runs,
    measure_days_since,
    measure_decayed_days,
    measure_time_in_runs,
)
from triage.fleet.standings.forecast import (
    FIRST_DAYS,
    USUAL,
    CallRule,
    Calls,
    Fading,
    compute_gamma_interval,
    decide_calls,
)
from triage.fleet.standings.parts import OfLeaves, find_outlying_leaves
from triage.fleet.standings.places import KINDS, PlaceRate, map_outlying_places, rate_record_places
from triage.fleet.standings.strikes import (
    NS_PER_HOUR,
    WINDOW_DAYS,
    Excess,
    FaultHistory,
    Strikes,
    build_history,
    build_strikes,
    find_outliers,
    merge_episodes,
    sum_by_member,
)
from triage.fleet.standings.words import Sign, collect_signs

# How names of such nodes begin, before a number or a separator: login1, head-0, fe2, mgmt.
_NAMES: Final = compile_re(
    r"(?:login|logon|head|fe|front-?end|front|mgmt|manage|management|admin|master|gateway|gw"
    r"|bastion|service|slurmctl\w*|ctl|controller|test|testbed|staging|dev|submit|visu?|dtn)"
    r"(?:node)?(?:[-_.]?\d+)?(?:[.].*)?",
    re.IGNORECASE,
)
_FEW: Final = 0.1


def map_special_nodes(record: FleetRecord) -> dict[int, str]:
    """Why each special node (front end, login node, test stand) is one, by its role or its name.

    Such nodes fail of what runs on them: they are no lemons, and no part of what others are held
    against.
    """
    roles = record.role or (None,) * len(record.nodes)
    named = {node for node, name in enumerate(record.nodes) if _NAMES.fullmatch(name)}
    if len(named) > _FEW * len(record.nodes):
        named = set()  # a name that so many have is no other work
    return {
        node: "does other work than the rest: "
        + (f"its role is {role}" if role else "its name says so")
        for node, role in enumerate(roles)
        if role or node in named
    }


# Strikes that are older are shown no more: a node stands the same in a record of any length.
_LOOK_BACK_DAYS: Final = 112.0
INTERRUPTIONS: Final = "interruptions"
OUTAGES: Final = "outages"
_TINY: Final = 1e-300
_Measure = Callable[[Ints], Floats]


@dataclass(frozen=True, slots=True)
class Measures:
    """Everything that grades are made from; arrays have one value per node.

    ``strikes`` look back over ``LOOK_BACK_DAYS``, without those of a leaf that stands out; so do
    ``decayed`` and ``decayed_days``, which fade by ``fading``. ``num``, ``blame``, ``days`` and
    ``excess`` are of the window. ``own`` is the place of a node that stands out, ``beside`` how
    often that fails beside the fleet, and ``rate`` what each node is held against, per day.
    ``shrunk`` is the rate of each with its interval, None where nothing was blamed. ``basis`` is
    what a strike is. ``special`` nodes are set aside, each with the reason.
    """

    strikes: Strikes
    leaves: OfLeaves
    num: Ints
    blame: Floats
    days: Floats
    decayed: Floats
    decayed_days: Floats
    ever: Flags
    excess: Excess
    own: Mapping[int, tuple[str, str]]
    rate: Floats
    fading: Fading
    shrunk: tuple[Floats, Floats, Floats] | None
    signs: Mapping[str, tuple[Sign, ...]]
    num_tested: int
    basis: str | None
    history: FaultHistory
    special: Mapping[int, str]
    calls: Calls | None
    num_left_out: int
    places: tuple[PlaceRate, ...]


def measure_record(record: FleetRecord) -> Measures:
    """Everything that the grades of a record are made from."""
    num_nodes, until_ns = len(record.nodes), record.until_ns
    from_ns = max(record.since_ns, until_ns - int(WINDOW_DAYS * NS_PER_DAY))
    back_ns = max(record.since_ns, until_ns - int(_LOOK_BACK_DAYS * NS_PER_DAY))
    back_ns = min(back_ns, from_ns)
    every_strike = build_strikes(record)
    basis = _choose_basis(record)
    [days] = _measure_exposure(record, basis, (lambda at_ns: measure_days_since(at_ns, from_ns),))
    everything = every_strike.take(every_strike.at_ns >= back_ns)
    leaves = find_outlying_leaves(record, everything, from_ns, days)
    of_leaf = np.isin(every_strike.row, everything.row[leaves.explained])
    history = build_history(record, every_strike.take(~of_leaf))
    special = map_special_nodes(record)
    ordinary = np.ones(num_nodes, dtype=bool)
    ordinary[list(special)] = False
    strikes = merge_episodes(everything.take(~leaves.explained), NS_PER_HOUR)
    if basis == OUTAGES:
        strikes = _convert_outages_to_strikes(record, history, back_ns)
    now = strikes.at_ns >= from_ns
    blame = sum_by_member(strikes.node[now], strikes.blame[now], num_nodes)
    places = _find_places(record, history, ordinary)
    own, beside = map_outlying_places(record, places)
    of_rest = np.where(ordinary, days, 0.0)
    excess = find_outliers(blame, of_rest * beside)
    calls = None
    if history.days >= FIRST_DAYS and len(history) and ordinary.any():
        # That repairs do not take is known of outages. Interruptions have to show it first.
        calls = decide_calls(history, ordinary, beside, CallRule(bursts=basis != OUTAGES))
    fading = USUAL if calls is None else calls.now.fading
    age_days = (until_ns - strikes.at_ns) / NS_PER_DAY

    def fade(at_ns: Ints) -> Floats:
        back = np.maximum(at_ns, back_ns)
        return fading.weigh(lambda half_life: measure_decayed_days(back, until_ns, half_life))

    [weighed_days] = _measure_exposure(record, basis, (fade,))
    weights = fading.weigh(lambda half_life: np.exp2(-age_days / half_life))
    decayed = sum_by_member(strikes.node, strikes.blame * weights, num_nodes)
    rate = excess.rate * beside
    # The rate of each node: its blame, drawn towards the rate of its place.
    weight = fading.shape + decayed
    mean = weight / (fading.shape / np.maximum(rate, _TINY) + weighed_days)
    return Measures(
        strikes=strikes,
        leaves=leaves,
        num=np.bincount(strikes.node[now], minlength=num_nodes),
        blame=blame,
        days=days,
        decayed=decayed,
        decayed_days=weighed_days,
        ever=np.bincount(np.concatenate([everything.node, strikes.node]), minlength=num_nodes) > 0,
        excess=excess,
        own=own,
        rate=rate,
        fading=fading,
        shrunk=(mean, *compute_gamma_interval(mean, weight)) if blame.any() else None,
        signs=collect_signs(record, from_ns, drains=basis != OUTAGES),
        num_tested=int(np.count_nonzero(of_rest > 0)),
        basis=basis,
        history=history,
        special=special,
        calls=calls,
        num_left_out=every_strike.num_left_out,
        places=places,
    )


def _choose_basis(record: FleetRecord) -> str | None:
    """What counts: interruptions where runs name nodes, else outages that were not planned."""
    if len(record.runs.node):
        return INTERRUPTIONS
    return None if record.outages.planned.all() else OUTAGES


def _measure_exposure(
    record: FleetRecord, basis: str | None, measures: tuple[_Measure, ...]
) -> tuple[Floats, ...]:
    """The exposure of each node in each of the measures."""
    num_nodes = len(record.nodes)
    if basis != OUTAGES:
        return measure_time_in_runs(record.runs, num_nodes, measures)
    away = record.outages
    order = np.argsort(away.start_ns, kind="stable")
    start, end, node = away.start_ns[order], away.end_ns[order], away.node[order]
    busy = np.full(num_nodes, record.since_ns, np.int64)
    ends = np.array([record.since_ns, record.until_ns], np.int64)
    totals = tuple(np.full(num_nodes, float(np.diff(one(ends))[0])) for one in measures)
    for row, of in enumerate(node.tolist()):
        last = np.array([max(start[row], busy[of]), max(end[row], busy[of])], np.int64)
        busy[of] = last[1]
        for total, one in zip(totals, measures, strict=True):
            total[of] -= float(np.diff(one(last))[0])
    return tuple(np.maximum(total, 0.0) for total in totals)


def _find_places(
    record: FleetRecord, history: FaultHistory, ordinary: Flags
) -> tuple[PlaceRate, ...]:
    """The places of the record, by all its faults and the days that nodes were in service."""
    if all(len({*getattr(record, kind)} - {None}) < 2 for kind in KINDS):
        return ()
    faults = sum_by_member(history.node, history.share, history.num_nodes)
    away = sum_by_member(history.node, history.back_day - history.day, history.num_nodes)
    days = np.maximum(_measure_days_in_fleet(record, history) - away, 0.0)
    return rate_record_places(record, np.where(days > 0, faults, 0.0), days, ordinary)


def _measure_days_in_fleet(record: FleetRecord, history: FaultHistory) -> Floats:
    """From when to when each node was there: where runs name nodes, from its first run or fault
    to its last, so that one which came later or was removed is not counted for all the record.
    """
    if not len(record.runs.node):
        return np.full(history.num_nodes, history.days)
    first_ns, last_ns = find_times_in_runs(record.runs, history.num_nodes)
    named = first_ns <= last_ns
    first = np.where(named, measure_days_since(first_ns, record.since_ns), history.days)
    last = np.where(named, measure_days_since(last_ns, record.since_ns), 0.0)
    np.minimum.at(first, history.node, history.day)
    np.maximum.at(last, history.node, history.back_day)
    return np.where(named, last - first, 0.0)


def _convert_outages_to_strikes(
    record: FleetRecord, history: FaultHistory, from_ns: int
) -> Strikes:
    """The faults of the history from a time on; none of them is of a row of accusations."""
    at_ns = record.since_ns + (history.day * NS_PER_DAY).astype(np.int64)
    kept = at_ns >= from_ns
    num = int(kept.sum())
    return Strikes(
        row=np.zeros(num, np.int64),
        node=history.node[kept].astype(np.int32),
        at_ns=at_ns[kept],
        blame=history.share[kept],
        fabric=np.zeros(num, dtype=bool),
    )
