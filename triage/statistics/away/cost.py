"""What spares cost and save: node-days that are bought, and node-hours that are short.

Per month of 30 days. A job that goes on with fewer nodes loses the node-hours that are short; a
job that cannot loses all its nodes in each hour in which one is short.
"""

import math
from dataclasses import dataclass
from typing import Final

from triage.domain.wire import Count, Share, WireForm
from triage.statistics.away.methods import Law
from triage.statistics.away.steps import Away

MONTH_DAYS: Final = 30.0
_ROWS: Final = 9
_BEYOND: Final = 1.25


@dataclass(frozen=True, slots=True)
class SparesCost(WireForm):
    """One number of spares, a month of them.

    ``in_sample`` and ``forecast`` are shares of the time in which they suffice, ``node_days``
    what they are, ``idle_node_days`` those of them that no outage uses. ``node_hours_short`` and
    ``hours_short`` (a node or more is short) are of the forecast; ``gpu_hours_short`` is None
    where nobody said how many GPUs a node has.
    """

    spares: Count
    in_sample: Share
    forecast: Share
    node_days: float
    idle_node_days: float
    node_hours_short: float
    hours_short: float
    gpu_hours_short: float | None


def compute_spares_costs(
    seen: Away, law: Law, *marks: int, gpus_per_node: int | None = None
) -> tuple[SparesCost, ...]:
    """Rows from no spare to a quarter beyond the most of ``marks``, each of them among them.

    ``law`` says what is to come.
    """
    most = math.ceil(max(marks) * _BEYOND)
    steps = sorted({round(most * row / (_ROWS - 1)) for row in range(_ROWS)} | set(marks))
    return tuple(_compute_cost(seen, law, spares, gpus_per_node) for spares in steps)


def _compute_cost(seen: Away, law: Law, spares: int, gpus_per_node: int | None) -> SparesCost:
    short_h = law.short(spares) * MONTH_DAYS * 24
    used = law.short(0) - law.short(spares)
    return SparesCost(
        spares,
        seen.covered(spares),
        1 - law.lacking(spares),
        spares * MONTH_DAYS,
        max(0.0, spares - used) * MONTH_DAYS,
        short_h,
        law.lacking(spares) * MONTH_DAYS * 24,
        short_h * gpus_per_node if gpus_per_node else None,
    )
