"""What a node is held against: the rate of its own generation, shrunk towards the fleet's.

A generation that fails three times as often as the others is no list of lemons. Few events make
its rate wild, so it counts as if it had seen some interruptions more at the fleet's rate.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.fleet.record.columns import Floats, Ints

__all__ = ["GENERATION", "Groups", "groups_of"]

GENERATION: Final = "generation"
# So many interruptions at the fleet's rate weigh as much as a generation's own.
SHRUNK_BY: Final = 5.0
NOTED_TIMES: Final = 2.0
# A fleet in which nobody was ever blamed still has a rate: less than one event is known.
UNSEEN: Final = 0.5


@dataclass(frozen=True, slots=True)
class Groups:
    """``names`` of generations, None for nodes of none; ``of`` says which is each node's.

    ``kinds`` says of each what it is: a generation, or a place that fails unlike the rest.
    """

    names: tuple[str | None, ...]
    of: Ints
    kinds: tuple[str, ...]

    def rates(self, blame: Floats, exposure: Floats, weight: Floats) -> tuple[float, Floats]:
        """The fleet's rate per unit of exposure, and for each node that of its group.

        Each node counts in them as much as its ``weight``.
        """
        time = float((weight * exposure).sum()) or float(exposure.sum())
        fleet = max(float((weight * blame).sum()), UNSEEN) / time if time else 0.0
        if len(self.names) < 2 or not fleet:
            return fleet, np.full(len(exposure), fleet)
        seen = np.bincount(self.of, weights=weight * blame, minlength=len(self.names))
        known = np.bincount(self.of, weights=weight * exposure, minlength=len(self.names))
        each = (SHRUNK_BY + seen) / (SHRUNK_BY / fleet + known)
        return fleet, each[self.of]

    def notes(self, rate: Floats, exposure: Floats, per: float) -> Iterator[str]:
        """Generations that fail ``NOTED_TIMES`` times as often as all others; ``rate`` is per
        unit of exposure and ``per`` what it is said per.
        """
        for number, name in enumerate(self.names):
            own, others = self.of == number, (self.of != number) & (exposure > 0)
            # A place that stands out has a note of its own.
            whole = self.kinds[number] == GENERATION
            if name is None or not whole or not exposure[own].any() or not others.any():
                continue
            mine = float(rate[own][0])
            theirs = float((rate * exposure)[others].sum() / exposure[others].sum())
            if mine >= NOTED_TIMES * theirs:
                yield (
                    f"generation {name} fails {mine / theirs:.1f} times as often as the others"
                    f" ({per * mine:.3g} per {per:,.0f} node-days): its nodes are held against"
                    " that"
                )


def groups_of(
    generation: Sequence[str | None], places: Mapping[int, tuple[str, str]] | None = None
) -> Groups:
    """Nodes by generation; one group where no inventory tells any apart.

    ``places`` are (kind, name) of nodes whose place stands out, and are groups of their own.
    """
    of_node = [(places or {}).get(node, (GENERATION, name)) for node, name in enumerate(generation)]
    every = sorted(set(of_node), key=lambda one: (one[1] is None, one[0], one[1] or ""))
    number = {one: place for place, one in enumerate(every)}
    return Groups(
        tuple(name for _, name in every),
        np.array([number[one] for one in of_node], dtype=np.int64),
        tuple(kind for kind, _ in every),
    )
