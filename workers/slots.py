"""How many things of each kind an embedded worker does at once, and how many it is doing."""

import threading
from collections.abc import Mapping

from triage.domain.states import WorkKind

__all__ = ["Slots", "slots_for"]


def slots_for(num_parsers: int) -> dict[WorkKind, int]:
    """Places by kind. Receivers keep one waiting, so notifying has more of them."""
    return {
        WorkKind.PARSE: num_parsers,
        WorkKind.ANALYSE: 1,
        WorkKind.NOTIFY: 4,
        WorkKind.RETENTION: 1,
    }


class Slots:
    """Places and how many are taken; shared between threads."""

    def __init__(self, places: Mapping[WorkKind, int]) -> None:
        self.places = dict(places)
        self.taken = dict.fromkeys(places, 0)
        self.changed = threading.Condition()

    def take(self, kind: WorkKind) -> bool:
        """Take a place of this kind; False when none is free."""
        with self.changed:
            free = self.taken[kind] < self.places[kind]
            self.taken[kind] += free
            return free

    def free(self) -> dict[WorkKind, int]:
        """Kinds that have free places, and how many."""
        with self.changed:
            left = {kind: self.places[kind] - taken for kind, taken in self.taken.items()}
        return {kind: number for kind, number in left.items() if number > 0}

    def give(self, kind: WorkKind) -> None:
        """Free a place of this kind."""
        with self.changed:
            self.taken[kind] -= 1
            self.changed.notify_all()

    def wait_empty(self, timeout_s: float) -> bool:
        """Wait until nothing is being done; whether that came within the time."""
        with self.changed:
            return self.changed.wait_for(lambda: not any(self.taken.values()), timeout_s)
