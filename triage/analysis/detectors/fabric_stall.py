"""Fabric stall: nobody is missing in an operation, and it does not end.

Nothing in the record tells one member from another: link, switch, NIC, NCCL
itself, or a peer outside the dumps. Nobody is convicted.
"""

from collections.abc import Iterator
from typing import Final

from triage.analysis.waiting.case import Case, describe_waiting
from triage.analysis.waiting.waits import PlaceKind, WaitPlace
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.finding import Finding

NAME: Final = "fr.fabric_stall"


def _describe_others(place: WaitPlace) -> str:
    if not place.through and not place.unknown:
        return "all its members entered it and none has finished"
    through, unknown = len(place.through), len(place.unknown)
    parts = [f"{through} finished it"] if through else []
    parts += [f"of {unknown} nothing says whether they entered it"] if unknown else []
    return ", ".join(parts)


def find_fabric_stalls(case: Case) -> Iterator[Finding]:
    """One finding on nobody per place that nobody is known to be missing from.

    Silent: when a member is missing or absent.
    """
    for end, places in case.ends():
        place = places[0]
        if len(places) > 1 or place.kind not in (PlaceKind.COLLECTIVE, PlaceKind.P2P):
            continue
        if place.missing or place.absent or place.held:
            continue
        where, others = case.place_text(place), _describe_others(place)
        text = f"{describe_waiting(len(place.waiting))} in {where}; {others}"
        summary = f"all ranks of {where} entered it and none gets through"
        witness = place.waiting[0]
        yield Finding(
            detector=NAME,
            # A job that runs looks the same for the blink of an eye.
            kind=VerdictKind.HANG if case.live.stopped else VerdictKind.INCONCLUSIVE,
            category=Category.NCCL_TIMEOUT,
            ranks=(),
            # Of a record that was cut only the counters say so.
            strength=0.4 if case.silent_at(end) else 0.8,
            role=Role.POSSIBLE,
            summary=text if place.through or place.unknown else summary,
            because=(case.because(NAME, text, witness, at=case.stuck_since(witness)),),
            end=end,
        )
