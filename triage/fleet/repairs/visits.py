"""Notes of repairs joined to the faults that they are about; the others are visits.

A note is often written after the node is back, or before anybody drained it. It belongs to the
fault of its node that it lies in, or that ended within a day before it.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from triage.fleet.domain.repair import RepairAction
from triage.fleet.record.columns import RepairNotes
from triage.fleet.record.faults import Faults
from triage.fleet.record.node_exposure import NS_PER_DAY

_WRITTEN_WITHIN_DAYS: Final = 1.0
_DRAINED_WITHIN_DAYS: Final = 1 / 24
_STRENGTH: Final = tuple(RepairAction)
"""What changes most stands last, but for ``other``."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A repair of a node that no fault is known around."""

    node: int
    day: float
    action: RepairAction


def with_notes(
    faults: Faults, repairs: RepairNotes | None, since_ns: int
) -> tuple[Faults, tuple[Visit, ...]]:
    """The faults with what notes say was done in them, and the notes of no fault.

    What an outage itself says of its repair stands; of several notes, the one that changes most.
    """
    if repairs is None or not len(repairs.node):
        return faults, ()
    order = np.lexsort((faults.start_day, faults.node))
    keys = faults.node[order].astype(np.float64) * 1e6 + faults.start_day[order]
    days = (repairs.at_ns - since_ns) / NS_PER_DAY
    wanted = repairs.node.astype(np.float64) * 1e6 + days + _DRAINED_WITHIN_DAYS
    places = np.searchsorted(keys, wanted, side="right") - 1
    actions, visits = list(faults.action), []
    own = {row for row, action in enumerate(actions) if action is not None}
    for note, place in enumerate(places.tolist()):
        row = int(order[place]) if place >= 0 else -1
        node, day, action = int(repairs.node[note]), float(days[note]), repairs.action[note]
        if row < 0 or faults.node[row] != node or day > faults.back_day[row] + _WRITTEN_WITHIN_DAYS:
            visits.append(Visit(node, day, action))
        elif row not in own:
            actions[row] = _stronger(actions[row], action)
    return replace(faults, action=tuple(actions)), tuple(visits)


def _stronger(one: RepairAction | None, other: RepairAction) -> RepairAction:
    """Of two repairs, the one that changes more."""
    if one is None or one is RepairAction.OTHER:
        return other
    if other is RepairAction.OTHER:
        return one
    return max(one, other, key=_STRENGTH.index)
