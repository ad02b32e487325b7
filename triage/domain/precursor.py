"""Precursors: error counters that grow some days before a node fails, as the record shows them."""

from dataclasses import dataclass, field
from typing import Annotated

from triage.domain.wire import Count, Rounded, WireForm

_FourDecimals = Annotated[float | None, Rounded(decimals=4)]


@dataclass(frozen=True, slots=True)
class Precursor(WireForm):
    """One counter, judged by the later half of the record with a threshold of the earlier half.

    A flag is raised where it grew by ``threshold`` or more in the window; ``followed`` are those
    of ``flags`` after which the node failed within the horizon, ``precision`` their share (95 %)
    and ``base_rate`` that of all days of all nodes. ``announced`` is the share of the
    ``num_faults`` faults that a flag came before, ``lead_days`` the median time between.
    ``q_value`` is the false-discovery rate beside the other counters, by records in which nodes
    are shuffled. ``pays`` is whether flags are raised. Figures are None without a threshold.
    """

    counter: str
    threshold: float | None
    flags: Count
    followed: Count
    precision: _FourDecimals
    precision_low: _FourDecimals
    precision_high: _FourDecimals
    base_rate: _FourDecimals
    num_faults: Count
    announced: _FourDecimals
    lead_days: Annotated[float | None, Rounded(decimals=2)]
    false_per_node_month: _FourDecimals
    q_value: _FourDecimals
    pays: bool
    text: str


@dataclass(frozen=True, slots=True)
class PrecursorFlag(WireForm):
    """A node that a counter flags now: it ``grew`` by so much, ``days_ago``."""

    node: str
    counter: str
    grew: float
    days_ago: Count
    text: str


@dataclass(frozen=True, slots=True)
class Precursors(WireForm):
    """What counters say of faults to come; ``num_faults`` are those of ``num_nodes`` that have
    telemetry. ``text`` says whether any counter announces faults, or why that cannot be told.
    """

    num_faults: Count
    num_nodes: Count
    window_days: Count
    horizon_days: Count
    text: str
    counters: tuple[Precursor, ...] = ()
    flags: tuple[PrecursorFlag, ...] = field(default=())


NO_PRECURSORS = Precursors(0, 0, 3, 7, "No telemetry of counters is known.")
"""Where nobody sends telemetry."""
