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
from triage.fleet.record.columns import Flags, FleetRecord, Floats, Ints
from triage.fleet.standings.precursors.flags import RaisedFlags, WindowGrowth, growth_of, raised
from triage.fleet.standings.precursors.node_days import (
    HORIZON_DAYS,
    WINDOW_DAYS,
    NodeDays,
    node_days_of,
)
from triage.fleet.standings.precursors.words import flag_text, precursor_text, summary_text
from triage.statistics.cause_mix import share
from triage.statistics.false_discovery import adjusted

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


def precursors_of(record: FleetRecord) -> Precursors:
    """Whether any counter of the record's telemetry announces faults, and whom it flags now."""
    counters = record.counters
    if counters is None or not len(counters.seen_node):
        return NO_PRECURSORS
    days = node_days_of(record, counters)
    middle = days.num_days // 2
    earlier, later = Half.of(days, 0, middle), Half.of(days, middle, days.num_days)
    known = replace(NO_PRECURSORS, num_faults=len(days.fault_row), num_nodes=len(days.nodes))
    fewest = min(earlier.num_faults, later.num_faults)
    if fewest < _LEAST_FAULTS or min(earlier.base, later.base) == 0.0:
        return replace(known, text=summary_text(known, fewest, _LEAST_FAULTS))
    grown = {name: growth_of(counters, name, days) for name in counters.growth}
    rows = tuple(_judged(grown, days, earlier, later))
    flags = tuple(
        flag
        for row in rows
        if row.pays and row.threshold is not None
        for flag in _flags_now(row, row.threshold, grown[row.counter], days, record.nodes)
    )
    known = replace(known, counters=rows, flags=flags)
    return replace(known, text=summary_text(known, fewest, _LEAST_FAULTS))


def _judged(
    grown: Mapping[str, WindowGrowth], days: NodeDays, earlier: Half, later: Half
) -> Iterator[Precursor]:
    """Each counter with its figures; the p-values of those with a threshold are held together."""
    rng = np.random.default_rng(_SEED)
    found: dict[str, tuple[float, RaisedFlags]] = {}
    for name, growth in grown.items():
        threshold = _best_threshold(growth, days, earlier)
        if threshold is not None:
            flags = raised(growth, threshold)
            found[name] = threshold, flags.where(later.days[flags.row, flags.day])
    p_values = {name: _p_value(flags, days, later, rng) for name, (_, flags) in found.items()}
    q_values = _q_values_of(p_values)
    for name in grown:
        yield _figures(name, *found.get(name, _NO_FLAGS), days, later, q_values.get(name))


def _best_threshold(growth: WindowGrowth, days: NodeDays, half: Half) -> float | None:
    """The threshold whose flags of this half lie farthest above chance; None where none does."""
    own = np.where(half.days[growth.rows], growth.grew, 0.0)
    positive = own[own > 0]
    if not len(positive):
        return None
    best, best_at = 0.0, None
    steps: Floats = np.unique(np.quantile(positive, _QUANTILES, method="higher"))
    for threshold in map(float, steps):
        flags = raised(growth, threshold)
        flags = flags.where(half.days[flags.row, flags.day])
        num, hits = len(flags.row), int(np.count_nonzero(days.followed[flags.row, flags.day]))
        if num < _LEAST_FLAGS or hits < _LEAST_FOLLOWED:
            continue
        spread = max(num * half.base * (1 - half.base), 1e-12)
        above = (hits - num * half.base) / spread**0.5
        if above > best:
            best, best_at = above, threshold
    return best_at


def _p_value(flags: RaisedFlags, days: NodeDays, half: Half, rng: "np.random.Generator") -> float:
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


def _q_values_of(p_values: Mapping[str, float]) -> dict[str, float]:
    """Benjamini and Hochberg."""
    found = adjusted(np.array([*p_values.values()], np.float64))
    return dict(zip(p_values, found.tolist(), strict=True))


def _figures(
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
    precision = share(hits, num)
    leads = np.zeros(0) if flags is None else _leads_of(flags.where(followed), days)
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
        announced=share(_num_announced(flags, days, half), half.num_faults).value,
        lead_days=float(np.median(leads)) if len(leads) else None,
        false_per_node_month=(num - hits) / num_days * _MONTH_DAYS if num_days else None,
        q_value=q,
        pays=bool(pays),
        text="",
    )
    return replace(found, text=precursor_text(found, WINDOW_DAYS, HORIZON_DAYS))


def _leads_of(flags: RaisedFlags, days: NodeDays) -> Floats:
    """Days from each flag to the fault that followed it."""
    key = days.fault_row * (days.num_days + 1) + days.fault_day
    at = np.searchsorted(key, flags.row * (days.num_days + 1) + flags.day, side="right")
    return (days.fault_day[at] - flags.day).astype(np.float64)


def _num_announced(flags: RaisedFlags | None, days: NodeDays, half: Half) -> int:
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


def _flags_now(
    precursor: Precursor,
    threshold: float,
    growth: WindowGrowth,
    days: NodeDays,
    nodes: tuple[str, ...],
) -> Iterator[PrecursorFlag]:
    """Flags of the last days whose node has not failed since, the newest first."""
    flags = raised(growth, threshold)
    lately = flags.where(flags.day >= days.num_days - HORIZON_DAYS)
    order = np.lexsort((days.nodes[lately.row], -lately.day))
    for at in order.tolist():
        row, day, grew = int(lately.row[at]), int(lately.day[at]), float(lately.grew[at])
        if days.followed[row, day]:
            continue
        ago = days.num_days - 1 - day
        text = flag_text(precursor, grew, ago, WINDOW_DAYS, HORIZON_DAYS)
        yield PrecursorFlag(nodes[int(days.nodes[row])], precursor.counter, grew, ago, text)
