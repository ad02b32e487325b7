"""Places: which generation, delivery, rack, cage, slot or leaf fails more than the rest.

Each is held against all the others of its kind. The nodes (or parts) are the units, and not their
faults: how much their counts differ decides how sure a difference is, so that one lemon does not
pass for its rack. All places of all kinds are tested together (Benjamini and Hochberg).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from triage.fleet.record.columns import Flags, FleetRecord, Floats, Ints
from triage.statistics.estimate import NOTHING_SEEN, OUTSIDE, Estimate
from triage.statistics.rates import adjust_p_values
from triage.statistics.rates import estimate_rate as plain_rate

KINDS: Final = ("generation", "batch", "rack", "cage", "slot", "leaf_switch")
# A place of fewer members is one node more or less.
_LEAST_MEMBERS: Final = 3
# A place, or its rest, with fewer events proves nothing.
_LEAST_EVENTS: Final = 5
_FALSE_DISCOVERY_RATE: Final = 0.05
_RATIO: Final = "times the rest"
_UNIT: Final = "per 1,000 node-days"


@dataclass(frozen=True, slots=True)
class PlaceRate:
    """How often one place fails: ``ratio`` to the rest of its kind, with its interval.

    ``found`` says that it stands out at the false-discovery rate over all places; ``p_value`` and
    ``q_value`` are None where it could not be tested, and ``why_not`` says why. Exposure is in
    node-days.
    """

    kind: str
    name: str
    members: int
    events: int
    exposure: float
    events_of_rest: int
    exposure_of_rest: float
    ratio: Estimate
    p_value: float | None
    q_value: float | None = None
    found: bool = False
    why_not: str | None = None

    @property
    def rate(self) -> Estimate:
        """The rate of the place, with the exact Poisson interval."""
        return plain_rate(self.events, self.exposure, unit=_UNIT, per=1e3)

    @property
    def rate_of_rest(self) -> Estimate:
        """The rate of all others of its kind."""
        return plain_rate(self.events_of_rest, self.exposure_of_rest, unit=_UNIT, per=1e3)


class _Side(NamedTuple):
    """Sums over the members of a place, or of all others: ``num`` members, ``events`` and ``time``
    of exposure, their squares and product, and events squared over exposure.
    """

    num: float
    events: float
    time: float
    events_2: float
    time_2: float
    product: float
    events_2_by_time: float

    def squares(self, rate: float) -> float:
        """Squared distances of members' events from ``rate`` times their exposure."""
        return self.events_2 - 2 * rate * self.product + rate**2 * self.time_2

    def chi(self, rate: float) -> float:
        """The same, each over what is expected of it."""
        return self.events_2_by_time / rate - 2 * self.events + rate * self.time


def rate_record_places(
    record: FleetRecord, events: Floats, exposure: Floats, ordinary: Flags
) -> tuple[PlaceRate, ...]:
    """The places that the record names, by events and node-days of their ``ordinary`` nodes."""
    labels = {}
    for kind in KINDS:
        named: Sequence[str | None] = getattr(record, kind)
        if named:
            labels[kind] = [name if ordinary[node] else None for node, name in enumerate(named)]
    return place_rates(events, exposure, labels)


def place_rates(
    events: Sequence[float] | Floats,
    exposure: Sequence[float] | Floats,
    places: Mapping[str, Sequence[str | None]],
) -> tuple[PlaceRate, ...]:
    """One row per place of each kind, the surest first.

    ``events`` and ``exposure`` (days) have a value for each node, ``places`` a name for each node
    under each kind, None where it is not known. Kinds of one place are left out.

    >>> cages = {"cage": list("aaaaabbbbb")}
    >>> rows = place_rates([9, 8, 7, 8, 9, 1, 0, 2, 1, 1], [10.0] * 10, cages)
    >>> rows[0].name, round(rows[0].ratio.value, 1), rows[0].found
    ('a', 8.2, True)
    """
    counts, time = np.asarray(events, np.float64), np.asarray(exposure, np.float64)
    rows = [row for kind, names in places.items() for row in _rate_kind(kind, names, counts, time)]
    return _with_discoveries(rows)


def _rate_kind(
    kind: str, names: Sequence[str | None], counts: Floats, time: Floats
) -> list[PlaceRate]:
    """The places of one kind, each against all others of it."""
    known = sorted({str(name) for name in names if name is not None})
    if len(known) < 2:
        return []
    place = {name: number for number, name in enumerate(known)}
    of: Ints = np.array([-1 if name is None else place[str(name)] for name in names], np.int64)
    kept = (of >= 0) & (time > 0)
    of, counts, time = of[kept], counts[kept], time[kept]
    columns = (np.ones(len(of)), counts, time, counts**2, time**2, counts * time, counts**2 / time)
    sums = np.array([np.bincount(of, column, len(known)) for column in columns])
    rows = []
    for name, own, rest in zip(
        known, sums.T.tolist(), (sums.sum(axis=1)[:, None] - sums).T.tolist(), strict=True
    ):
        mine, others = _Side(*own), _Side(*rest)
        if not mine.num or not others.num:
            continue
        ratio, p, why_not = _estimate_ratio(mine, others)
        row = PlaceRate(
            kind, name, round(mine.num), round(mine.events), mine.time, round(others.events),
            others.time, ratio, p, why_not=why_not,
        )  # fmt: skip
        rows.append(row)
    return rows


def _estimate_ratio(mine: _Side, others: _Side) -> tuple[Estimate, float | None, str | None]:
    """The ratio of the two rates, the chance of one as far from 1, and why it cannot be told.

    Each side's count varies as its members' counts vary about its rate, and at least as much as
    those of all do: few members show too little of it. Where one side has no event the ratio has
    a bound alone.
    """
    from scipy.special import stdtr, stdtrit

    total = round(mine.events + others.events)
    why_not = None
    if min(mine.num, others.num) < _LEAST_MEMBERS:
        why_not = f"fewer than {_LEAST_MEMBERS} members on a side"
    elif total < _LEAST_EVENTS:
        why_not = f"fewer than {_LEAST_EVENTS} events"
    if why_not is not None:
        return Estimate(None, None, None, total, _RATIO, notes=(why_not,)), None, why_not
    sides = [(side, side.events / side.time) for side in (mine, others)]
    chi = sum(side.chi(rate) for side, rate in sides if rate)
    spread = max(chi / max(sum(side.num for side, rate in sides if rate) - 2, 1.0), 1.0)
    outside = OUTSIDE / 2
    if not mine.events or not others.events:
        silent = total * (others if mine.events else mine).time / (mine.time + others.time)
        bound = -float(np.log(outside)) * spread / silent
        low, high = (1 / bound, None) if mine.events else (None, bound)
        ratio = Estimate(None, low, high, total, _RATIO, notes=(NOTHING_SEEN,))
        return ratio, min(1.0, 2 * float(np.exp(-silent / spread))), None
    error = 0.0
    for side, rate in sides:
        residual = side.squares(rate) * side.num / (side.num - 1)
        error += max(residual, spread * side.events) / side.events**2
    freedom = min(mine.num, others.num) - 1
    middle, error = float(np.log(sides[0][1] / sides[1][1])), float(np.sqrt(error))
    reach = float(stdtrit(freedom, 1 - outside)) * error
    low, high = float(np.exp(middle - reach)), float(np.exp(middle + reach))
    p = 2 * float(stdtr(freedom, -abs(middle) / error))
    return Estimate(float(np.exp(middle)), low, high, total, _RATIO), p, None


def _with_discoveries(rows: Sequence[PlaceRate]) -> tuple[PlaceRate, ...]:
    """The rows with their q-values, the surest first."""
    tested = [row for row in rows if row.p_value is not None]
    q = adjust_p_values(np.array([row.p_value for row in tested], np.float64)).tolist()
    done = [
        replace(row, q_value=value, found=value <= _FALSE_DISCOVERY_RATE)
        for row, value in zip(tested, q, strict=True)
    ]
    done.sort(key=lambda row: (row.p_value or 0.0, row.kind, row.name))
    return (*done, *(row for row in rows if row.p_value is None))


def map_outlying_places(
    record: FleetRecord, places: Sequence[PlaceRate]
) -> tuple[dict[int, tuple[str, str]], Floats]:
    """For each node in a place that stands out, which: the surest one; and its ratio, else 1."""
    own: dict[int, tuple[str, str]] = {}
    beside = np.ones(len(record.nodes))
    for row in places:
        if not row.found or row.ratio.value is None:
            continue
        for node, name in enumerate(getattr(record, row.kind)):
            if name == row.name and node not in own:
                own[node] = (row.kind, row.name)
                beside[node] = row.ratio.value
    return own, beside


def describe_place(row: PlaceRate) -> str:
    """What is known of a place, in one sentence."""
    name = f"{row.kind.replace('_', ' ')} {row.name}"
    counted = f"{row.events} faults of {row.members} nodes"
    ratio = row.ratio
    if row.why_not is not None:
        return f"{name}: {counted}; it cannot be told from the rest: {row.why_not}"
    if ratio.value is None:
        side = (
            f"at most {ratio.high:.2g}" if ratio.high is not None else f"at least {ratio.low:.2g}"
        )
        times = f"{side} times as often as the rest"
    else:
        times = (
            f"{ratio.value:.2g} times as often as the rest (95 %: {ratio.low:.2g} to"
            f" {ratio.high:.2g})"
        )
    stands = ": its nodes are held against that" if row.found else ", which may be chance"
    return f"{name} fails {times}, by {counted}{stands}"
