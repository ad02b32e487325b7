"""Device stall: the host issued an operation, its device does not get through it.

Either peers have finished a collective that needs everybody, and this rank has
not; or (with timing on) peers have started it on the device and this rank has
not reached it. Groups with send/recv are left out: there counters differ by right.
"""

from collections.abc import Iterator
from typing import Final

from triage.analysis.waiting.case import Case
from triage.analysis.waiting.dump_moment import find_home, is_rooted, is_timed
from triage.analysis.waiting.waits import PlaceKind, WaitPlace
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.finding import Finding
from triage.domain.rank_digest import STARTED_BIT

NAME: Final = "fr.device_stall"


def find_device_stalls(case: Case) -> Iterator[Finding]:
    """One finding per end of the graph, naming the ranks whose device stopped.

    Silent: when the stuck ranks are not the smaller part of the group.
    """
    for end, places in case.ends():
        place = places[0]
        if len(places) > 1 or place.kind is not PlaceKind.COLLECTIVE:
            continue
        if place.missing or place.absent or place.held:
            continue
        if place.through:
            if not is_rooted(case.snapshot, place):
                yield from _find_behind_their_peers(case, end, place)
        else:
            yield from _find_not_reached(case, end, place)


def _find_behind_their_peers(case: Case, end: int, place: WaitPlace) -> Iterator[Finding]:
    if len(place.waiting) > max(1, len(place.through) + len(place.unknown) - 1):
        return
    # Devices of several nodes do not stop in one operation by chance: it is the fabric,
    # or these ranks were dumped earlier than the others.
    if len({find_home(case.snapshot, rank) for rank in place.waiting}) > 1:
        return
    text = (
        f"{len(place.through)} of its peers have finished {case.place_text(place)};"
        " this rank issued it and has not"
    )
    yield _make_claim(case, end, place, tuple(place.waiting), text, 0.85)


def _find_not_reached(case: Case, end: int, place: WaitPlace) -> Iterator[Finding]:
    """Ranks whose device has not started what their peers' devices have."""
    started: list[int] = []
    waiting: list[int] = []
    for rank in place.waiting:
        digest, stuck = case.snapshot.digest_of(rank), case.snapshot.stuck_of(rank)
        if digest is None or stuck is None or stuck.row is None or not is_timed(digest):
            return
        on_device = int(digest.pending.flags[stuck.row]) & STARTED_BIT
        (started if on_device else waiting).append(rank)
    if waiting and 2 * len(waiting) < len(place.waiting):
        text = (
            f"{len(started)} of its peers have started {case.place_text(place)} on the device;"
            " on this rank it is issued and not started"
        )
        yield _make_claim(case, end, place, tuple(waiting), text, 0.75)


def _make_claim(
    case: Case, end: int, place: WaitPlace, ranks: tuple[int, ...], text: str, strength: float
) -> Finding:
    reasons = []
    for rank in ranks[:4]:
        reasons += case.explain(NAME, text, rank, "the stuck operation")
    return Finding(
        detector=NAME,
        kind=VerdictKind.HANG,
        category=Category.GPU,
        ranks=ranks,
        strength=strength,
        role=Role.CULPRIT,
        summary=f"is stuck on the device in {case.place_text(place)}, which its peers got past",
        because=tuple(reasons),
        end=end,
    )
