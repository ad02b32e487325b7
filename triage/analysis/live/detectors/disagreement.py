"""Disagreement: ranks of one communicator that launched other operations than their peers."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from triage.analysis.live.case import LiveCase, make_look_claim
from triage.analysis.live.communicators.levels import normalize_operation
from triage.analysis.live.communicators.who import MembersOfJob
from triage.analysis.live.jobs import find_standing_round
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.finding import Finding
from triage.domain.live.communicator import Communicator, CommunicatorRank
from triage.domain.live.look import Tool

_FROZEN: Final = 0.85
_ONE_LOOK: Final = 0.6
_TIE: Final = 0.3
_MAX_REASONS: Final = 3


# Members of a communicator issue one sequence of operations. Who is behind has issued fewer of each
# kind, or as many. A member with more of one kind and fewer of another has issued something else.


@dataclass(frozen=True, slots=True)
class _Disagreement:
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


def find_disagreements(communicators: Iterable[Communicator]) -> list[_Disagreement]:
    """The communicators whose members issued different operations."""
    return [found for one in communicators if (found := _find_disagreement(one)) is not None]


def _find_disagreement(communicator: Communicator) -> _Disagreement | None:
    """The smallest set of members that contradicts the largest; None where all fit.

    Of members that a tool does not list it tells what they have in common: they count as one set,
    and what is not said of a listed one is as of those.
    """
    rest = communicator.rest
    common = {} if rest is None else rest.launched or {}
    alike: dict[tuple[tuple[str, int], ...], list[CommunicatorRank]] = defaultdict(list)
    for member in communicator.ranks:
        if member.launched is not None:
            alike[_sort_counts({**common, **member.launched})].append(member)
    sizes = {counts: len(members) for counts, members in alike.items()}
    if common:
        key = _sort_counts(common)
        unlisted = max(communicator.size - len(communicator.ranks), 1)
        sizes[key] = sizes.get(key, 0) + unlisted
    if len(sizes) < 2:
        return None
    most = max(sizes, key=lambda counts: (sizes[counts], counts))
    usual = dict(most)
    for counts in sorted(alike, key=lambda one: (sizes[one], one)):
        names = _find_contradiction(dict(counts), usual)
        if counts != most and names is not None and sizes[counts] == len(alike[counts]):
            return _Disagreement(communicator, tuple(alike[counts]), sizes[most], usual, *names)
    return None


def _sort_counts(counts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items()))


def _find_contradiction(odd: Mapping[str, int], usual: Mapping[str, int]) -> tuple[str, str] | None:
    """An operation of which ``odd`` has more, and one of which it has fewer."""
    names = sorted(odd.keys() & usual.keys())
    ahead = [name for name in names if odd[name] > usual[name]]
    behind = [name for name in names if odd[name] < usual[name]]
    return (ahead[0], behind[0]) if ahead and behind else None


class Disagree:
    """One finding on the ranks that contradict most of their peers.

    Silent: where counters moved between two looks, and where who is behind is behind in all.
    """

    def __init__(self, name: str, tool: Tool) -> None:
        self.name = name
        self.tool = tool

    def run(self, case: LiveCase) -> Iterator[Finding]:
        """The finding of the communicator in which the fewest disagree with the most."""
        found = find_standing_round(case, self.tool)
        every = [] if found is None else find_disagreements(found.communicators)
        if found is None or not every:
            return
        worst = min(
            every,
            key=lambda one: (
                len(one.odd) / one.num_others,
                -one.num_others,
                one.communicator.hash,
            ),
        )
        members = MembersOfJob(case, found.looks)
        yield self.finding(members, worst, frozen=found.frozen or case.stopped)

    def finding(self, members: MembersOfJob, one: _Disagreement, *, frozen: bool) -> Finding:
        """The claim on the odd ranks; of two halves either may be wrong."""
        tie = len(one.odd) == one.num_others
        homes = [members.home_of(who) for who in one.odd]
        ranks, nodes = members.places(homes)
        more, fewer = normalize_operation(one.odd_ahead), normalize_operation(one.odd_behind)
        convicts = frozen and not tie and bool(ranks or nodes)
        text = f"launched more {more} and fewer {fewer} than {one.num_others} of its peers"
        return make_look_claim(
            detector=self.name,
            of_a_moment=not frozen,
            explained_by=frozenset(),
            kind=VerdictKind.DESYNC,
            category=Category.COLLECTIVE_MISMATCH,
            ranks=tuple(ranks),
            nodes=tuple(nodes),
            strength=_TIE if tie else _FROZEN if frozen else _ONE_LOOK,
            role=Role.CULPRIT if convicts else Role.POSSIBLE,
            summary=members.naming(text, homes[0]),
            because=tuple(
                members.explain(
                    self.name,
                    who,
                    f"launched {_describe_counts({**one.usual, **(who.launched or {})}, one)},"
                    f" others {_describe_counts(one.usual, one)}",
                )
                for who in one.odd[:_MAX_REASONS]
            ),
            ranks_disagree=True,
            one_of=tie,
        )


def _describe_counts(counts: Mapping[str, int], one: _Disagreement) -> str:
    """``11 AllGather and 19 AllReduce``."""
    names = (one.odd_ahead, one.odd_behind)
    return " and ".join(f"{counts.get(name, 0)} {normalize_operation(name)}" for name in names)
