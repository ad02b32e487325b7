"""Ranks of one communicator that did not issue the same operations in the same order.

Members of a communicator issue one sequence of operations. Who is behind has issued fewer of each
kind, or as many. A member with more of one kind and fewer of another has issued something else.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from triage.domain.live.communicator import Communicator, CommunicatorRank

__all__ = ["Disagreement", "disagreements"]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """``odd`` are the fewest members that disagree with ``num_others`` that issued ``usual``, the
    most of all; ``odd_ahead`` is an operation of which the odd ones issued more, ``odd_behind``
    one of which they issued fewer.
    """

    communicator: Communicator
    odd: tuple[CommunicatorRank, ...]
    num_others: int
    usual: Mapping[str, int]
    odd_ahead: str
    odd_behind: str


def disagreements(communicators: Iterable[Communicator]) -> Iterator[Disagreement]:
    """The communicators whose members issued different operations."""
    for communicator in communicators:
        found = disagreement_in(communicator)
        if found is not None:
            yield found


def disagreement_in(communicator: Communicator) -> Disagreement | None:
    """The smallest set of members that contradicts the largest; None where all fit.

    Of members that a tool does not list it tells what they have in common: they count as one set,
    and what is not said of a listed one is as of those.
    """
    rest = communicator.rest
    common = {} if rest is None else rest.launched or {}
    alike: dict[tuple[tuple[str, int], ...], list[CommunicatorRank]] = defaultdict(list)
    for member in communicator.ranks:
        if member.launched is not None:
            alike[counted({**common, **member.launched})].append(member)
    sizes = {counts: len(members) for counts, members in alike.items()}
    if common:
        key = counted(common)
        unlisted = max(communicator.size - len(communicator.ranks), 1)
        sizes[key] = sizes.get(key, 0) + unlisted
    if len(sizes) < 2:
        return None
    most = max(sizes, key=lambda counts: (sizes[counts], counts))
    usual = dict(most)
    for counts in sorted(alike, key=lambda one: (sizes[one], one)):
        names = contradiction(dict(counts), usual)
        if counts != most and names is not None and sizes[counts] == len(alike[counts]):
            return Disagreement(communicator, tuple(alike[counts]), sizes[most], usual, *names)
    return None


def counted(counts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items()))


def contradiction(odd: Mapping[str, int], usual: Mapping[str, int]) -> tuple[str, str] | None:
    """An operation of which ``odd`` has more, and one of which it has fewer."""
    names = sorted(odd.keys() & usual.keys())
    ahead = [name for name in names if odd[name] > usual[name]]
    behind = [name for name in names if odd[name] < usual[name]]
    return (ahead[0], behind[0]) if ahead and behind else None
