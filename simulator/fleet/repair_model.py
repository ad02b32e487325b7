"""What a repair of a simulated fault does, how long it takes, and whether it takes.

Most are short, some last for months (Weibull, shape 0.46). In a shortage a part of the nodes
waits for one delivery, and comes back on one day.
"""

from typing import Final

import numpy as np

from simulator.fleet.fault_kinds import FaultKind
from simulator.fleet.wish import FaultModel, FleetWish
from triage.fleet.domain.cause import RepairAction

_SHAPE: Final = 0.46
_LONGEST_DAYS: Final = 135.0
_SHORTAGE_DAYS: Final = (20.0, 120.0)
_NODES_OF_HALL: Final = 400  # which wait for a delivery of their own
_WORST: Final = 0.97
_SWAPS: Final = frozenset(action for action in RepairAction if action.startswith("swap_"))
_SWAP_GROWS: Final = 1.5


class RepairModel:
    """The repairs of one fleet."""

    def __init__(
        self, wish: FleetWish, model: FaultModel, chance: np.random.Generator, since_day: float
    ) -> None:
        self.model, self.chance = model, chance
        halls = (wish.nodes - 1) // _NODES_OF_HALL + 1
        days = wish.days - since_day
        self.shortages: list[list[tuple[float, float]]] = []
        for _ in range(halls):
            number = int(chance.poisson(model.shortages * days / 365))
            begins = np.sort(chance.uniform(since_day, wish.days, number))
            lengths = chance.uniform(*_SHORTAGE_DAYS, number)
            self.shortages.append([*zip(begins.tolist(), (begins + lengths).tolist(), strict=True)])

    def back(self, kind: FaultKind, node: int, day: float) -> float:
        """When a node that failed on this day is back."""
        for begin, delivery in self.shortages[node // _NODES_OF_HALL]:
            if begin <= day < delivery and self.chance.random() < self.model.waiting_share:
                return delivery + float(self.chance.uniform(0, 0.05))
        drawn = float(self.chance.weibull(_SHAPE))
        return day + min(kind.scale_days * drawn, _LONGEST_DAYS)

    def outcome(self, kind: FaultKind, attempts: int) -> tuple[RepairAction, bool]:
        """What is done, and whether it takes; the more was done before, the rather a swap."""
        actions = [*kind.actions]
        often = np.array([share for share, _ in kind.actions.values()])
        fails = np.array([times for _, times in kind.actions.values()])
        fails = fails / ((often / often.sum()) * fails).sum()
        swaps = np.array([action in _SWAPS for action in actions])
        often = often * np.where(swaps, _SWAP_GROWS ** min(attempts, 3), 1.0)
        chosen = int(self.chance.choice(len(actions), p=often / often.sum()))
        again = min(kind.again * float(fails[chosen]) * self.model.again_times, _WORST)
        return actions[chosen], bool(self.chance.random() >= again)
