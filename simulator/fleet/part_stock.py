"""Which GPU sits where, and those that were swapped out and wait to be put in elsewhere."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from simulator.fleet.truth import PartMove, TrueStay

GPUS: Final = 8
_STOCK_DAYS: Final = 14.0


@dataclass(frozen=True, slots=True)
class Spare:
    """A bad GPU that waits to be put in somewhere."""

    part: str
    node: str
    slot: int
    out_day: float
    ready_day: float
    fault: int


def _serial(number: int) -> str:
    """A serial as NVIDIA's boards have them."""
    return f"165{number:010d}"


class PartStock:
    """The GPUs of a fleet; nodes are machines by number, names are numbers too."""

    def __init__(self, nodes: int, moved_share: float, chance: np.random.Generator) -> None:
        self.nodes, self.moved_share, self.chance = nodes, moved_share, chance
        self.parts: dict[tuple[int, int], tuple[str, float | None]] = {}
        self.num_parts = GPUS * nodes
        self.names_of: dict[int, list[tuple[float | None, int]]] = {}
        self.stock: list[Spare] = []
        self.moves: list[PartMove] = []
        self.stays: list[TrueStay] = []

    def part_at(self, node: int, slot: int) -> tuple[str, float | None]:
        """The serial of the GPU there, and since when."""
        return self.parts.get((node, slot), (_serial(node * GPUS + slot), None))

    def swap(self, node: int, name_now: int, out: Spare, *, took: bool) -> int | None:
        """Another GPU comes in; the number of the fault that it had elsewhere, if it had any.

        ``out`` is the one that leaves, and the node as it was called when it failed.
        """
        slot, day, name = out.slot, out.out_day, str(name_now)
        _, since = self.part_at(node, slot)
        self.leave(out.part, node, slot, since, day)
        ready = [
            spare
            for spare in self.stock
            if spare.ready_day <= day and spare.node not in (name, out.node)
        ]
        if took and self.chance.random() < self.moved_share:
            wait = float(self.chance.exponential(_STOCK_DAYS))
            self.stock.append(replace(out, ready_day=day + wait))
        if not ready:
            self.num_parts += 1
            self.parts[node, slot] = (_serial(self.num_parts - 1), day)
            return None
        spare = ready[0]
        self.stock.remove(spare)
        self.parts[node, slot] = (spare.part, day)
        move = PartMove(spare.part, spare.node, spare.slot, spare.out_day, name, slot, day)
        self.moves.append(move)
        return spare.fault

    def leave(
        self, part: str, node: int, slot: int, since: float | None, until: float | None
    ) -> None:
        """A part was there: under each name that the node had meanwhile."""
        names = self.names_of.get(node, [(None, node)])
        ends = [*(day for day, _ in names[1:]), None]
        for (begin, name), end in zip(names, ends, strict=True):
            first = since if begin is None else begin if since is None else max(begin, since)
            last = until if end is None else end if until is None else min(end, until)
            if first is None or last is None or first < last:
                self.stays.append(TrueStay(part, str(name), slot, first, last))

    def rename(self, node: int, mine: int, theirs: int, day: float) -> None:
        """A machine has another name from this day on."""
        self.names_of.setdefault(node, [(None, mine)]).append((day, theirs))

    def all_stays(self) -> list[TrueStay]:
        """Those that ended, and those that last."""
        for node in range(self.nodes):
            for slot in range(GPUS):
                part, since = self.part_at(node, slot)
                self.leave(part, node, slot, since, None)
        return self.stays
