"""What the counters of one tool show of a communicator's ranks: who is behind, and who disagrees.

*Behind*: a rank has launched fewer operations than its peers, who wait for it. Its host did not
launch them: it stands in its own code, is held, or its process is gone. Ranks that wait for such a
rank in another communicator are behind too, and are not named.

*Disagreement*: ranks of one communicator launched other operations than their peers.

*Out of step*: the ranks of a communicator launched different numbers, and who is behind is not
listed: the text of RAS lists small groups alone, so that where most are behind, it lists those that
are ahead, or nobody. *Set-up*: most ranks of a communicator have not finished setting it up, and
whoever is late there cannot be told from who waits. Nobody is named by either.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from triage.analysis.live.case import LiveCase, make_look_claim
from triage.analysis.live.communicators.rounds import Round, find_standing_round
from triage.analysis.live.communicators.waits import (
    ABSENT,
    INIT,
    EndOfWaits,
    Lag,
    MembersOfJob,
    describe_machine,
    find_waits,
    normalize_operation,
)
from triage.domain.category import Category, VerdictKind
from triage.domain.finding import Finding
from triage.domain.live.communicator import Communicator, CommunicatorRank
from triage.domain.live.look import Tool
from triage.domain.report import Because

# An end for which fewer ranks wait than this share of the most waits for what no tool counts
# (sends, receives): it is not named beside the other.
_ALIKE: Final = 0.5
# So many ends on several nodes name nobody.
_MAX_ALIKE: Final = 4
_MAX_REASONS: Final = 4
# Two looks with the same counters; without clocks they may be of one second; and one look alone,
# of a job that is known to stand or of any job.
_FROZEN: Final = 0.9
_FROZEN_UNDATED: Final = 0.75
_ONE_LOOK_STOPPED: Final = 0.8
_ONE_LOOK: Final = 0.55

_SECOND_LOOK: Final = "one look alone may be of a job that runs, take a second one 30 s later"
_HOST: Final = "look at what that process does (py-spy, data loader, storage, locks)"


def find_ranks_behind(name: str, tool: Tool, case: LiveCase) -> Iterator[Finding]:
    """One finding on the rank at which the waits end that one tool shows, or on all that are
    behind on one node; several are a tie.

    Silent: where counters moved between two looks, where all launched the same, and where many
    ranks of several nodes are behind together.
    """
    found = find_standing_round(case, tool)
    if found is None or (case.moving and not found.frozen):
        return
    members = MembersOfJob(case, found.looks)
    waits = find_waits(found.communicators, members.identity_of)
    # That a rank does not answer is another claim.
    ends = [end for end in waits if end.lags and ABSENT not in {lag.operation for lag in end.lags}]
    if not ends:
        return
    alike = _select_behind_own_group(
        [end for end in ends if end.waiting >= _ALIKE * ends[0].waiting]
    )
    places = [members.home_of(end.lags[0].member) for end in alike]
    nodes = {members.node_of(*place) for place in places}
    one_node = len(nodes) == 1 and None not in nodes
    if len(alike) > _MAX_ALIKE and not one_node:
        return
    tie = len(alike) > 1 and not one_node
    strength = _rate_strength(found, stopped=case.stopped)
    first = alike[0].lags[0]
    inside = ", ".join(describe_machine(first.member.process)) if len(alike) == 1 else ""
    inside = f" ({inside})" if inside and any(members.places(places[:1])) else ""
    text = "is behind its peers" if len(alike) == 1 or tie else "are behind their peers"
    yield members.claim(
        name,
        places,
        f"{text}{inside}: it {_describe_lag(first)}",
        convicts=strength > _ONE_LOOK and not tie,
        of_a_moment=not found.frozen,
        kind=VerdictKind.HANG if strength > _ONE_LOOK else VerdictKind.INCONCLUSIVE,
        category=Category.HOST_STALL,
        strength=strength / len(alike) if tie else strength,
        advice=_SECOND_LOOK if strength <= _ONE_LOOK else _HOST,
        because=tuple(_list_lag_reasons(name, found, members, alike)),
        one_of=tie,
    )


def _list_lag_reasons(
    name: str, found: Round, members: MembersOfJob, ends: Sequence[EndOfWaits]
) -> Iterator[Because]:
    looks = ", the same in two looks" if found.frozen else ""
    each = max(_MAX_REASONS // len(ends), 1)
    for end in ends[:_MAX_REASONS]:
        for lag in end.lags[:each]:
            yield members.explain(name, lag.member, f"{_describe_lag(lag)}{looks}")


def _select_behind_own_group(ends: Sequence[EndOfWaits]) -> Sequence[EndOfWaits]:
    """Of ends for which about as many wait, those that are behind in most communicators.

    A pipeline stage that waits for a receive, which no tool counts, is behind together: in its data
    groups, and not in its tensor groups. The rank that stands is behind in its own group too.
    """
    spread = [len({lag.communicator.hash for lag in end.lags}) for end in ends]
    return [end for end, count in zip(ends, spread, strict=True) if count == max(spread)]


def _describe_lag(lag: Lag) -> str:
    """``launched 88201 AllGather, its 7 peers 88202``."""
    several = f"its {lag.ahead} peers" if lag.ahead != 1 else "its peer"
    if lag.operation == INIT:
        return f"has not finished the set-up of a communicator, {several} have"
    name = normalize_operation(lag.operation)
    rest = lag.communicator.size - 1
    some = "" if lag.ahead >= rest else f" of {rest}"
    return f"launched {lag.count} {name}, {several}{some} {'up to ' if some else ''}{lag.most}"


def _rate_strength(found: Round, *, stopped: bool) -> float:
    """What a round is worth: two looks that agree are a hang."""
    if found.frozen:
        return _FROZEN if found.dated or stopped else _FROZEN_UNDATED
    return _ONE_LOOK_STOPPED if stopped else _ONE_LOOK


# Members of a communicator issue one sequence of operations. Who is behind has issued fewer of each
# kind, or as many. A member with more of one kind and fewer of another has issued something else.

_DISAGREE: Final = "ras.disagree"
_DISAGREE_FROZEN: Final = 0.85
_DISAGREE_ONCE: Final = 0.6
_DISAGREE_TIE: Final = 0.3
_MAX_ODD_REASONS: Final = 3


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

    def describe(self, counts: Mapping[str, int]) -> str:
        """``11 AllGather and 19 AllReduce``."""
        names = (self.odd_ahead, self.odd_behind)
        return " and ".join(f"{counts.get(name, 0)} {normalize_operation(name)}" for name in names)


def find_disagreement(communicator: Communicator) -> _Disagreement | None:
    """The smallest set of members that contradicts the largest; None where all fit.

    Of members that a tool does not list it tells what they have in common: they count as one set,
    and what is not said of a listed one is as of those.
    """
    rest = communicator.rest
    common = {} if rest is None else rest.launched or {}
    alike: dict[tuple[tuple[str, int], ...], list[CommunicatorRank]] = defaultdict(list)
    for member in communicator.ranks:
        if member.launched is not None:
            alike[tuple(sorted({**common, **member.launched}.items()))].append(member)
    sizes = {counts: len(members) for counts, members in alike.items()}
    if common:
        key = tuple(sorted(common.items()))
        unlisted = max(communicator.size - len(communicator.ranks), 1)
        sizes[key] = sizes.get(key, 0) + unlisted
    if len(sizes) < 2:
        return None
    most = max(sizes, key=lambda counts: (sizes[counts], counts))
    usual = dict(most)
    for counts in sorted(alike, key=lambda one: (sizes[one], one)):
        odd = dict(counts)
        names = sorted(odd.keys() & usual.keys())
        ahead = next((name for name in names if odd[name] > usual[name]), None)
        behind = next((name for name in names if odd[name] < usual[name]), None)
        unlisted_too = sizes[counts] != len(alike[counts])
        if ahead is not None and behind is not None and not unlisted_too:
            members = tuple(alike[counts])
            return _Disagreement(communicator, members, sizes[most], usual, ahead, behind)
    return None


def find_odd_operations(case: LiveCase) -> Iterator[Finding]:
    """One finding on the ranks that contradict most of their peers, of the communicator in which
    the fewest disagree with the most; of two halves either may be wrong.

    Silent: where counters moved between two looks, and where who is behind is behind in all.
    """
    found = find_standing_round(case, Tool.RAS)
    if found is None:
        return
    every = [odd for one in found.communicators if (odd := find_disagreement(one)) is not None]
    if not every:
        return
    one = min(
        every,
        key=lambda one: (len(one.odd) / one.num_others, -one.num_others, one.communicator.hash),
    )
    members = MembersOfJob(case, found.looks)
    frozen = found.frozen or case.stopped
    tie = len(one.odd) == one.num_others
    more, fewer = normalize_operation(one.odd_ahead), normalize_operation(one.odd_behind)
    yield members.claim(
        _DISAGREE,
        [members.home_of(who) for who in one.odd],
        f"launched more {more} and fewer {fewer} than {one.num_others} of its peers",
        convicts=frozen and not tie,
        of_a_moment=not frozen,
        explained_by=frozenset(),
        kind=VerdictKind.DESYNC,
        category=Category.COLLECTIVE_MISMATCH,
        strength=_DISAGREE_TIE if tie else _DISAGREE_FROZEN if frozen else _DISAGREE_ONCE,
        because=tuple(
            members.explain(
                _DISAGREE,
                who,
                f"launched {one.describe({**one.usual, **(who.launched or {})})},"
                f" others {one.describe(one.usual)}",
            )
            for who in one.odd[:_MAX_ODD_REASONS]
        ),
        ranks_disagree=True,
        one_of=tie,
    )


_MAX_COMMUNICATORS: Final = 3
_ASK: Final = "ask NCCL RAS for JSON, or verbosely, which lists every rank"
_AGAIN: Final = ", and once more 30 s later: one look alone may be of a job that runs"
_SET_UP: Final = "look at what each rank does there (stacks), and at the bootstrap network"
# What a claim is worth: counters the same in two looks, or in a job that stands; and one look.
_OUT_OF_STEP: Final = (0.45, 0.35)
_IN_SET_UP: Final = (0.5, 0.3)


def find_out_of_step(case: LiveCase) -> Iterator[Finding]:
    """One finding on nobody, of all communicators whose lowest ranks are not listed.

    Silent: where counters moved between two looks, and where whoever is behind is listed.
    """
    found = find_standing_round(case, Tool.RAS)
    if found is None:
        return
    rows = [
        (one, text)
        for one in found.communicators
        for name in sorted(one.unlisted)
        if (text := _spread_text(one, name)) is not None
    ]
    if rows:
        frozen = found.frozen or case.stopped
        summary = f"ranks of one communicator are out of step: {rows[0][1]}"
        advice = _ASK if frozen else _ASK + _AGAIN
        worth = VerdictKind.DESYNC, *_OUT_OF_STEP
        yield _make_claim("ras.out_of_step", found, rows, summary, advice, worth, frozen)


def find_set_up(case: LiveCase) -> Iterator[Finding]:
    """One finding on nobody, of the largest communicator that is being set up.

    Silent: where fewer than half of a communicator's ranks set it up.
    """
    found = find_standing_round(case, Tool.RAS)
    every = [] if found is None else found.communicators
    stuck = [one for one in every if 2 * _count_in_set_up(one) >= one.size > 1]
    if found is not None and stuck:
        worst = max(stuck, key=lambda one: (_count_in_set_up(one), one.hash))
        count, frozen = _count_in_set_up(worst), found.frozen or case.stopped
        text = f"{count} of {worst.size} ranks have not finished the set-up of a communicator"
        worth = VerdictKind.HANG, *_IN_SET_UP
        yield _make_claim("ras.set_up", found, [(worst, text)], text, _SET_UP, worth, frozen)


def _make_claim(
    name: str,
    found: Round,
    rows: Sequence[tuple[Communicator, str]],
    summary: str,
    advice: str,
    worth: tuple[VerdictKind, float, float],
    frozen: bool,
) -> Finding:
    """A claim on nobody, with a clause on each communicator of ``rows``."""
    kind, strength, of_one_look = worth
    return make_look_claim(
        name,
        summary,
        of_a_moment=not frozen,
        kind=kind if frozen else VerdictKind.INCONCLUSIVE,
        category=Category.NCCL_TIMEOUT,
        strength=strength if frozen else of_one_look,
        advice=advice,
        because=tuple(
            Because(
                name, f"communicator {one.hash:016x}: {text}", found.looks[0].artifact, one.line
            )
            for one, text in rows[:_MAX_COMMUNICATORS]
        ),
    )


def _count_in_set_up(communicator: Communicator) -> int:
    rest = communicator.rest
    unlisted = communicator.size - len(communicator.ranks)
    others = unlisted if rest is not None and rest.status == "init" else 0
    return others + sum(one.status == "init" for one in communicator.ranks)


def _spread_text(one: Communicator, name: str) -> str | None:
    """``12 ranks launched 3121 AllReduce, 4 launched 3122``; None where those that launched
    the fewest are listed, or all launched the same.
    """
    levels = Counter(one.unlisted[name])
    least = min(levels)
    levels.update(counts[name] for member in one.ranks if name in (counts := member.launched or {}))
    if len(levels) < 2 or min(levels) < least:
        return None
    first, *others = sorted(levels)
    rest = ", ".join(f"{levels[count]} launched {count}" for count in others)
    return f"{levels[first]} ranks launched {first} {normalize_operation(name)}, {rest}"
