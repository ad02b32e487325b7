"""How many spare nodes to keep, by the repair pipeline.

Nodes fail at a rate and stay away for days, so the number away at once is Poisson with mean
nodes x rate x days (Palm's theorem: only the mean time of repair counts).
"""

from dataclasses import dataclass
from typing import Final

from triage.domain.wire import WireForm

CONFIDENCES: Final = (0.95, 0.99, 0.999)


@dataclass(frozen=True, slots=True)
class Spares(WireForm):
    """Spare nodes that suffice with each of ``CONFIDENCES``.

    ``mean_down`` is how many nodes are away at once on average; ``percent`` is the 99 % figure
    over the nodes.
    """

    num_nodes: int
    mean_down: float
    at_95: int
    at_99: int
    at_999: int
    percent: float


def estimate_spares_in_repair(num_nodes: int, per_node_day: float, repair_days: float) -> Spares:
    """Spares for nodes that fail ``per_node_day`` and are away for ``repair_days``."""
    from scipy.stats import poisson

    mean = num_nodes * per_node_day * repair_days
    at_95, at_99, at_999 = (int(poisson.ppf(one, mean)) for one in CONFIDENCES)
    return Spares(num_nodes, mean, at_95, at_99, at_999, 100 * at_99 / num_nodes)
