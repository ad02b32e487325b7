"""Communicator set-up hang: the first operation of a group never begins.

Set-up comes before the record, so a hang in it leaves no entry on any member and
no row in their group tables: the members look idle. What gives it away is that
several ranks are idle at one point of the program while ranks beside them have
set up a group of a kind that none of these has.
"""

from collections.abc import Iterator
from typing import Final

from triage.analysis.waiting.case import Case
from triage.analysis.waiting.waits import PlaceKind
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.finding import Finding

NAME: Final = "fr.setup_hang"

_MAX_NAMED = 16


def find_setup_hang(case: Case) -> Iterator[Finding]:
    """One finding on nobody, for all idle ends together.

    Silent: on fewer than two idle ranks, when they stopped at different points, or
    when no other rank has a kind of group that they lack.
    """
    idle = {
        end: places[0].waiting[0] for end, places in case.ends() if places[0].kind is PlaceKind.IDLE
    }
    last_place, index_of = case.snapshot.last_place, case.snapshot.index_of
    if len(idle) < 2 or len({last_place(index_of[rank]) for rank in idle.values()}) > 1:
        return
    missing = _find_lacking_kind(case, set(idle.values()))
    if not missing:
        return
    desc, size = missing
    ranks = tuple(sorted(idle.values()))
    text = (
        f"{len(ranks)} ranks are idle at the same point, and none of them has a group"
        f' "{desc}", which ranks beside them have set up with {size} members each: the'
        " communicator's set-up hangs, and that is not recorded"
    )
    for end, rank in idle.items():
        yield Finding(
            detector=NAME,
            kind=VerdictKind.HANG,
            category=Category.NCCL_TIMEOUT,
            ranks=ranks[:_MAX_NAMED],
            strength=0.35,
            role=Role.POSSIBLE,
            summary=f'hang together in setting up the communicator of a group "{desc}"',
            because=(case.because(NAME, text, rank, at=case.stopped_at(rank)),),
            end=end,
        )


def _find_lacking_kind(case: Case, idle: set[int]) -> tuple[str, int] | None:
    """A kind of group that others have set up, no idle rank has, and whose size fits."""
    theirs: set[str] = set()
    sizes: dict[str, set[int]] = {}
    for group in case.snapshot.groups:
        if not group.desc or group.desc == "undefined":
            continue
        sizes.setdefault(group.desc, set()).add(len(group.ranks))
        if not idle.isdisjoint(group.ranks):
            theirs.add(group.desc)
    for desc in sorted(set(sizes) - theirs):
        for size in sorted(sizes[desc]):
            if len(idle) % size == 0 or len(idle) < size:
                return desc, size
    return None
