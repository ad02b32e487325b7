"""Which counters announce faults: a threshold from the earlier half of the record, judged by the
later half.

Shuffled nodes say what chance gives: the flags keep their days and their numbers by node, and
fall on other nodes. The counters are judged side by side at a false-discovery rate of 5 %. So of
records in which counters have nothing to do with faults, at most 5 % name one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from triage.domain.precursor import NO_PRECURSORS, Precursor, PrecursorFlag, Precursors
from triage.fleet.record.columns import CounterDays, Flags, FleetRecord, Floats, Ints, Small
from triage.fleet.record.faults import faults_of
from triage.fleet.record.node_exposure import NS_PER_DAY
from triage.statistics.cause_mix import estimate_share
from triage.statistics.false_discovery import adjust_p_values

_Days = Ints | Small
WINDOW_DAYS: Final = 3
HORIZON_DAYS: Final = 7


@dataclass(frozen=True, slots=True)
class NodeDays:
    """Arrays of shape (rows, days); row ``i`` is the node ``nodes[i]`` of the record.

    ``clear`` days may raise a flag; ``followed`` ones have a fault within the horizon after
    them. ``fault_row`` and ``fault_day`` are the faults of watched nodes, each once a day.
    """

    nodes: Ints
    clear: Flags
    followed: Flags
    fault_row: Ints
    fault_day: Ints

    @property
    def num_days(self) -> int:
        """Whole days, and the one that goes on."""
        return int(self.clear.shape[1])


def build_node_days(record: FleetRecord, counters: CounterDays) -> NodeDays:
    """The days of all nodes that have telemetry."""
    first_day = record.since_ns // NS_PER_DAY
    num_days = max(int(-(-record.until_ns // NS_PER_DAY) - first_day), 1)
    nodes = np.unique(counters.seen_node).astype(np.int64)
    row_of = np.full(len(record.nodes) + 1, -1, np.int64)
    row_of[nodes] = np.arange(len(nodes))
    clear = _mark_spans(
        len(nodes), num_days, row_of[counters.seen_node], counters.first_day, counters.last_day
    )
    fault_row, fault_day = _locate_faults(record, row_of, first_day, num_days)
    clear &= _mark_in_service(record, row_of, first_day, clear.shape)
    clear[fault_row, fault_day] = False
    whole = clear.copy()
    for back in range(1, WINDOW_DAYS):
        whole[:, back:] &= clear[:, :-back]
        whole[:, :back] = False
    followed = _mark_spans(len(nodes), num_days, fault_row, fault_day - HORIZON_DAYS, fault_day - 1)
    return NodeDays(nodes, whole, followed, fault_row, fault_day)


def _mark_spans(num_rows: int, num_days: int, row: Ints, first: _Days, last: _Days) -> Flags:
    """True from ``first`` to ``last`` of each row named; what lies outside is cut off."""
    steps = np.zeros((num_rows, num_days + 1), np.int32)
    begin, end = np.maximum(first, 0), np.minimum(last, num_days - 1) + 1
    kept = begin < end
    np.add.at(steps, (row[kept], begin[kept]), 1)
    np.add.at(steps, (row[kept], end[kept]), -1)
    found: Flags = np.cumsum(steps, axis=1)[:, :-1] > 0
    return found


def _locate_faults(
    record: FleetRecord, row_of: Ints, first_day: int, num_days: int
) -> tuple[Ints, Ints]:
    """Row and day of each fault: outages that were not planned, and convictions."""
    faults = faults_of(record)
    start_ns = record.since_ns + faults.start_day * NS_PER_DAY
    convicted = record.accusations.convicted
    stop = record.accusations.interruption[convicted]
    planned = record.interruptions.planned[stop]
    node = np.concatenate([faults.node[faults.begun], record.accusations.node[convicted][~planned]])
    at_ns = np.concatenate(
        [start_ns[faults.begun], record.interruptions.at_ns[stop][~planned].astype(np.float64)]
    )
    day = (at_ns // NS_PER_DAY).astype(np.int64) - first_day
    row = row_of[node]
    inside = (row >= 0) & (day >= 0) & (day < num_days)
    once = np.unique(row[inside] * num_days + day[inside])
    return once // num_days, once % num_days


def _mark_in_service(
    record: FleetRecord, row_of: Ints, first_day: int, shape: tuple[int, int]
) -> Flags:
    """Days on which a node was not out of service at any time, planned or not."""
    outages = record.outages
    row = row_of[outages.node]
    first = outages.start_ns // NS_PER_DAY - first_day
    last = outages.end_ns // NS_PER_DAY - first_day
    known = row >= 0
    found: Flags = ~_mark_spans(shape[0], shape[1], row[known], first[known], last[known])
    return found


COUNTERS: Final = {
    "link_recovery_growth": "link recoveries",
    "ecc_corrected_growth": "corrected memory errors",
    "ecc_growth": "memory errors that nothing corrected",
    "remap_growth": "remapped rows",
    "nvlink_growth": "NVLink errors",
    "ib_growth": "errors of its network ports",
}
"""What the counters are called, by the column that holds their growth."""


def _get_counter_name(counter: str) -> str:
    return COUNTERS.get(counter, counter)


def _format_per_cent(share: float | None) -> str:
    return "an unknown share" if share is None else f"{share:.1%}".replace("%", " %")


def _describe_shares(precursor: Precursor, horizon_days: int) -> str:
    return (
        f"{precursor.followed} of {precursor.flags} such flags were followed by a fault within"
        f" {horizon_days} days, base rate {_format_per_cent(precursor.base_rate)}"
    )


def flag_text(
    precursor: Precursor, grew: float, days_ago: int, window_days: int, horizon_days: int
) -> str:
    """What a flag says: ``its link recoveries grew by 41 in 3 days; here 6 of 19 such ...``."""
    when = "" if days_ago == 0 else f" ({days_ago} day{'s' * (days_ago != 1)} ago)"
    counted = _describe_shares(precursor, horizon_days)
    name = _get_counter_name(precursor.counter)
    whose = "the" if " its " in name else "its"
    return f"{whose} {name} grew by {grew:,.0f} in {window_days} days{when}; here {counted}"


def describe_precursor(precursor: Precursor, window_days: int, horizon_days: int) -> str:
    """What one counter was worth in the later half of the record."""
    name = _get_counter_name(precursor.counter)
    name = name[0].upper() + name[1:]
    if precursor.threshold is None:
        return f"{name}: no growth of them came before faults more often than chance."
    at = f"{name}, {precursor.threshold:,.0f} or more in {window_days} days"
    figures = _describe_shares(precursor, horizon_days)
    if not precursor.pays:
        return f"{at}: {figures}: no flag is raised."
    lead = f", {precursor.lead_days:.1f} days before" if precursor.lead_days is not None else ""
    said = _format_per_cent(precursor.announced)
    false = precursor.false_per_node_month or 0.0
    return (
        f"{at}: {figures}. They announced {said} of the faults{lead};"
        f" {false:.3f} false flags per node and month."
    )


def summarize_precursors(found: Precursors, fewest: int, least: int) -> str:
    """Whether any counter announces faults."""
    nodes = f"{found.num_nodes:,} node{'s' * (found.num_nodes != 1)} with telemetry"
    faults = f"{found.num_faults:,} fault{'s' * (found.num_faults != 1)} of {nodes}"
    if not found.counters:
        return (
            f"Whether a counter announces faults cannot be told: {faults}; the record needs"
            f" {least} in each half of its time, and has {fewest} in one."
        )
    paying = [_get_counter_name(one.counter) for one in found.counters if one.pays]
    if not paying:
        return f"No counter of this fleet announces faults: {faults}."
    return f"Growth of {' and of '.join(paying)} announces faults here: {faults}."


@dataclass(frozen=True, slots=True)
class WindowGrowth:
    """``grew`` has shape (rows, days): by how much a counter grew over the window that ends with
    the day; 0 on days that raise no flag. ``rows`` are rows of the node-days.
    """

    rows: Ints
    grew: Floats


@dataclass(frozen=True, slots=True)
class RaisedFlags:
    """Flags, by day: ``row`` of the node-days, ``day``, and by how much the counter ``grew``."""

    row: Ints
    day: Ints
    grew: Floats

    def where(self, kept: Flags) -> "RaisedFlags":
        """Some of them."""
        return RaisedFlags(self.row[kept], self.day[kept], self.grew[kept])


def select_growth(counters: CounterDays, counter: str, days: NodeDays) -> WindowGrowth:
    """The growth of the nodes of which the counter grew at all; what is not finite is none."""
    values = np.nan_to_num(counters.growth[counter], nan=0.0, posinf=0.0, neginf=0.0)
    known = (values > 0) & (counters.day >= 0) & (counters.day < days.num_days)
    known &= np.isin(counters.node, days.nodes)
    row = np.searchsorted(days.nodes, counters.node[known])
    rows, place = np.unique(row, return_inverse=True)
    by_day = np.zeros((len(rows), days.num_days))
    np.add.at(by_day, (place, counters.day[known]), values[known])
    grew = by_day.copy()
    for back in range(1, WINDOW_DAYS):
        grew[:, back:] += by_day[:, :-back]
    grew[~days.clear[rows]] = 0.0
    return WindowGrowth(rows.astype(np.int64), grew)


def raise_flags(growth: WindowGrowth, threshold: float) -> RaisedFlags:
    """The flags at a threshold: the first day of each stretch, and again after the horizon."""
    above = growth.grew >= threshold
    busy_until = np.full(len(growth.rows), -1)
    rows, days = [], []
    for day in np.flatnonzero(above.any(axis=0)).tolist():
        new = np.flatnonzero(above[:, day] & (busy_until < day))
        busy_until[new] = day + HORIZON_DAYS
        rows.append(new)
        days.append(np.full(len(new), day))
    if not rows:
        nothing = np.zeros(0, np.int64)
        return RaisedFlags(nothing, nothing, np.zeros(0))
    place, day_of = np.concatenate(rows), np.concatenate(days)
    return RaisedFlags(growth.rows[place], day_of, growth.grew[place, day_of])


_FALSE_DISCOVERY_RATE: Final = 0.05
# Flags pay from so many times the chance of any day on; below, they only cost looks.
_LEAST_TIMES: Final = 2.0
# Faults of each half, and flags and hits, below which nothing is said of a counter.
_LEAST_FAULTS: Final = 10
_LEAST_FLAGS: Final = 5
_LEAST_FOLLOWED: Final = 3
_SHUFFLES: Final = 399
# After so many shuffles that do as well there is no need of more (Besag and Clifford, 1991).
_ENOUGH: Final = 40
_SEED: Final = 20_261_126
_QUANTILES: Final = (0.0, 0.5, 0.75, 0.9, 0.95, 0.99)
_MONTH_DAYS: Final = 30.0


_NO_FLAGS: Final[tuple[float | None, RaisedFlags | None]] = (None, None)


@dataclass(frozen=True, slots=True)
class Half:
    """The days of one half that may be judged: those whose horizon ends within it.

    ``base`` is the share of them that a fault follows; ``faults`` says which faults are its own.
    """

    days: Flags
    base: float
    faults: Flags

    @classmethod
    def of(cls, node_days: NodeDays, first: int, last: int) -> "Half":
        """The days from ``first`` until before ``last``."""
        usable = np.zeros_like(node_days.clear)
        until = max(last - HORIZON_DAYS, first)
        usable[:, first:until] = node_days.clear[:, first:until]
        num = int(np.count_nonzero(usable))
        hits = int(np.count_nonzero(usable & node_days.followed))
        own = (node_days.fault_day >= first) & (node_days.fault_day < last)
        return cls(usable, hits / num if num else 0.0, own)

    @property
    def num_faults(self) -> int:
        """Faults of watched nodes in it."""
        return int(np.count_nonzero(self.faults))


def judge_precursors(record: FleetRecord) -> Precursors:
    """Whether any counter of the record's telemetry announces faults, and whom it flags now."""
    counters = record.counters
    if counters is None or not len(counters.seen_node):
        return NO_PRECURSORS
    days = build_node_days(record, counters)
    middle = days.num_days // 2
    earlier, later = Half.of(days, 0, middle), Half.of(days, middle, days.num_days)
    known = replace(NO_PRECURSORS, num_faults=len(days.fault_row), num_nodes=len(days.nodes))
    fewest = min(earlier.num_faults, later.num_faults)
    if fewest < _LEAST_FAULTS or min(earlier.base, later.base) == 0.0:
        return replace(known, text=summarize_precursors(known, fewest, _LEAST_FAULTS))
    grown = {name: select_growth(counters, name, days) for name in counters.growth}
    rows = tuple(_iterate_judged(grown, days, earlier, later))
    flags = tuple(
        flag
        for row in rows
        if row.pays and row.threshold is not None
        for flag in _iterate_current_flags(
            row, row.threshold, grown[row.counter], days, record.nodes
        )
    )
    known = replace(known, counters=rows, flags=flags)
    return replace(known, text=summarize_precursors(known, fewest, _LEAST_FAULTS))


def _iterate_judged(
    grown: Mapping[str, WindowGrowth], days: NodeDays, earlier: Half, later: Half
) -> Iterator[Precursor]:
    """Each counter with its figures; the p-values of those with a threshold are held together."""
    rng = np.random.default_rng(_SEED)
    found: dict[str, tuple[float, RaisedFlags]] = {}
    for name, growth in grown.items():
        threshold = _find_best_threshold(growth, days, earlier)
        if threshold is not None:
            flags = raise_flags(growth, threshold)
            found[name] = threshold, flags.where(later.days[flags.row, flags.day])
    p_values = {
        name: _estimate_p_value(flags, days, later, rng) for name, (_, flags) in found.items()
    }
    q_values = _compute_q_values(p_values)
    for name in grown:
        yield _compute_figures(name, *found.get(name, _NO_FLAGS), days, later, q_values.get(name))


def _find_best_threshold(growth: WindowGrowth, days: NodeDays, half: Half) -> float | None:
    """The threshold whose flags of this half lie farthest above chance; None where none does."""
    own = np.where(half.days[growth.rows], growth.grew, 0.0)
    positive = own[own > 0]
    if not len(positive):
        return None
    best, best_at = 0.0, None
    steps: Floats = np.unique(np.quantile(positive, _QUANTILES, method="higher"))
    for threshold in map(float, steps):
        flags = raise_flags(growth, threshold)
        flags = flags.where(half.days[flags.row, flags.day])
        num, hits = len(flags.row), int(np.count_nonzero(days.followed[flags.row, flags.day]))
        if num < _LEAST_FLAGS or hits < _LEAST_FOLLOWED:
            continue
        spread = max(num * half.base * (1 - half.base), 1e-12)
        above = (hits - num * half.base) / spread**0.5
        if above > best:
            best, best_at = above, threshold
    return best_at


def _estimate_p_value(
    flags: RaisedFlags, days: NodeDays, half: Half, rng: "np.random.Generator"
) -> float:
    """How often flags on shuffled nodes are followed by as many faults for their number."""
    if not len(flags.row):
        return 1.0
    seen = float(np.mean(days.followed[flags.row, flags.day]))
    as_good = 0
    for drawn in range(1, _SHUFFLES + 1):
        row = rng.permutation(len(days.nodes))[flags.row]
        valid = half.days[row, flags.day]
        hits = np.count_nonzero(days.followed[row, flags.day] & valid)
        as_good += bool(int(hits) >= seen * max(int(np.count_nonzero(valid)), 1))
        if as_good == _ENOUGH:
            return as_good / drawn
    return (as_good + 1) / (_SHUFFLES + 1)


def _compute_q_values(p_values: Mapping[str, float]) -> dict[str, float]:
    """Benjamini and Hochberg."""
    found = adjust_p_values(np.array([*p_values.values()], np.float64))
    return dict(zip(p_values, found.tolist(), strict=True))


def _compute_figures(
    name: str,
    threshold: float | None,
    flags: RaisedFlags | None,
    days: NodeDays,
    half: Half,
    q: float | None,
) -> Precursor:
    """What the flags of the later half came to."""
    followed = np.zeros(0, np.bool_) if flags is None else days.followed[flags.row, flags.day]
    num, hits = len(followed), int(np.count_nonzero(followed))
    precision = estimate_share(hits, num)
    leads = np.zeros(0) if flags is None else _measure_leads(flags.where(followed), days)
    pays = (
        num >= _LEAST_FLAGS
        and hits >= _LEAST_FOLLOWED
        and q is not None
        and q <= _FALSE_DISCOVERY_RATE
        and (precision.low or 0.0) > half.base
        and hits >= _LEAST_TIMES * half.base * num
    )
    num_days = int(np.count_nonzero(half.days))
    found = Precursor(
        counter=name,
        threshold=threshold,
        flags=num,
        followed=hits,
        precision=precision.value,
        precision_low=precision.low,
        precision_high=precision.high,
        base_rate=half.base,
        num_faults=half.num_faults,
        announced=estimate_share(_count_announced(flags, days, half), half.num_faults).value,
        lead_days=float(np.median(leads)) if len(leads) else None,
        false_per_node_month=(num - hits) / num_days * _MONTH_DAYS if num_days else None,
        q_value=q,
        pays=bool(pays),
        text="",
    )
    return replace(found, text=describe_precursor(found, WINDOW_DAYS, HORIZON_DAYS))


def _measure_leads(flags: RaisedFlags, days: NodeDays) -> Floats:
    """Days from each flag to the fault that followed it."""
    key = days.fault_row * (days.num_days + 1) + days.fault_day
    at = np.searchsorted(key, flags.row * (days.num_days + 1) + flags.day, side="right")
    return (days.fault_day[at] - flags.day).astype(np.float64)


def _count_announced(flags: RaisedFlags | None, days: NodeDays, half: Half) -> int:
    """Faults of the half with a flag of their node within the horizon before them."""
    if flags is None or not len(flags.row):
        return 0
    ahead = np.zeros_like(days.clear)
    for lead in range(1, HORIZON_DAYS + 1):
        day = flags.day + lead
        inside = day < days.num_days
        ahead[flags.row[inside], day[inside]] = True
    own: Ints = np.flatnonzero(half.faults)
    return int(np.count_nonzero(ahead[days.fault_row[own], days.fault_day[own]]))


def _iterate_current_flags(
    precursor: Precursor,
    threshold: float,
    growth: WindowGrowth,
    days: NodeDays,
    nodes: tuple[str, ...],
) -> Iterator[PrecursorFlag]:
    """Flags of the last days whose node has not failed since, the newest first."""
    flags = raise_flags(growth, threshold)
    lately = flags.where(flags.day >= days.num_days - HORIZON_DAYS)
    order = np.lexsort((days.nodes[lately.row], -lately.day))
    for at in order.tolist():
        row, day, grew = int(lately.row[at]), int(lately.day[at]), float(lately.grew[at])
        if days.followed[row, day]:
            continue
        ago = days.num_days - 1 - day
        text = flag_text(precursor, grew, ago, WINDOW_DAYS, HORIZON_DAYS)
        yield PrecursorFlag(nodes[int(days.nodes[row])], precursor.counter, grew, ago, text)
