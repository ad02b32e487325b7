"""Fabric stall: all members entered the same operation and none gets through.

Nothing in the record tells one member from another: link, switch, NIC, NCCL
itself, or a peer outside the dumps. Nobody is convicted.
"""

from collections.abc import Iterator

from triage.analysis.waiting.case import Case, ranks_wait
from triage.analysis.waiting.waits import PlaceKind
from triage.domain.category import HARDWARE, SOFTWARE, Category, Role, VerdictKind
from triage.domain.finding import Finding

__all__ = ["FabricStall"]


class FabricStall:
    """One finding on nobody per place that everyone entered.

    Silent: when a member is missing, absent, or has finished it.
    """

    name = "fr.fabric_stall"
    explains: frozenset[Category] = (
        HARDWARE
        | SOFTWARE
        | {Category.DEPENDENCY, Category.HOST_MAINTENANCE, Category.GPU_OOM, Category.HOST_OOM}
    )
    runs_in_flight = False
    is_gap = False

    def run(self, case: Case) -> Iterator[Finding]:
        """The findings on ``case``."""
        for end, places in case.ends():
            place = places[0]
            if len(places) > 1 or place.kind not in (PlaceKind.COLLECTIVE, PlaceKind.P2P):
                continue
            if place.missing or place.absent or place.held:
                continue
            if place.through or place.unknown:
                how = f"{len(place.through)} finished it, of {len(place.unknown)} nothing is known"
            else:
                how = "all its members entered it and none has finished"
            text = f"{ranks_wait(len(place.waiting))} in {case.place_text(place)}; {how}"
            witness = place.waiting[0]
            yield Finding(
                detector=self.name,
                explained_by=self.explains,
                # A job that runs looks the same for the blink of an eye.
                kind=VerdictKind.HANG if case.live.stopped else VerdictKind.INCONCLUSIVE,
                category=Category.NCCL_TIMEOUT,
                ranks=(),
                # Of a record that was cut only the counters say so.
                strength=0.4 if case.silent_at(end) else 0.8,
                role=Role.POSSIBLE,
                summary=f"all ranks of {case.place_text(place)} entered it and none gets through",
                because=(case.because(self.name, text, witness, at=case.stuck_since(witness)),),
                end=end,
            )
