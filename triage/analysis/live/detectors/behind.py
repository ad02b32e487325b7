"""Behind: a rank has launched fewer operations than its peers, who wait for it.

Its host did not launch them: it stands in its own code, is held, or its process is gone. Ranks that
wait for such a rank in another communicator are behind too, and are not named.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from triage.analysis.live.case import LiveCase
from triage.analysis.live.communicators.levels import ABSENT, INIT
from triage.analysis.live.communicators.rounds import Round, RoundMovement
from triage.analysis.live.communicators.waits import EndOfWaits, Lag, find_waits
from triage.analysis.live.communicators.who import MembersOfJob, describe_machine
from triage.analysis.live.detectors.operations import normalize_operation
from triage.analysis.live.jobs import own_round
from triage.domain.category import ANY_CAUSE, Category, Role, VerdictKind
from triage.domain.finding import Finding
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


class Behind:
    """The ends of the waits in the communicators that one tool shows.

    Silent: where counters moved between two looks, where all launched the same, and where many
    ranks of several nodes are behind together.
    """

    def __init__(self, name: str, tool: Tool) -> None:
        self.name = name
        self.tool = tool

    def run(self, case: LiveCase) -> Iterator[Finding]:
        """One finding on the rank, or on all that are behind on one node; several are a tie."""
        found = own_round(case, self.tool)
        if found is None or found.movement is RoundMovement.MOVED:
            return
        if found.movement is RoundMovement.ONE_LOOK and case.moving:
            return
        members = MembersOfJob(case, found.looks)
        waiting = [one for look in found.looks for one in look.waiting]
        waits = find_waits(found.communicators, members.identity_of, waiting)
        ends = [end for end in waits if _list_counted_lags(end)]
        if not ends:
            return
        alike = _select_behind_own_group(
            [end for end in ends if end.waiting >= _ALIKE * ends[0].waiting]
        )
        homes = [(end.lags[0].member.process, members.look_of(end.lags[0].member)) for end in alike]
        nodes = {members.node_of(process, look) for process, look in homes}
        one_node = len(nodes) == 1 and None not in nodes
        if len(alike) > _MAX_ALIKE and not one_node:
            return
        yield self.finding(case, found, members, alike, tie=len(alike) > 1 and not one_node)

    def finding(
        self,
        case: LiveCase,
        found: Round,
        members: MembersOfJob,
        ends: Sequence[EndOfWaits],
        *,
        tie: bool,
    ) -> Finding:
        """The claim on the ranks of ``ends``; of a ``tie`` one of them is meant."""
        strength = _rate_strength(found, stopped=case.stopped)
        lags = [_list_counted_lags(end) for end in ends]
        places = [(one[0].member.process, members.look_of(one[0].member)) for one in lags]
        ranks, nodes = members.places(places)
        convicts = strength > _ONE_LOOK and not tie and bool(ranks or nodes)
        first = lags[0][0]
        is_named = any(members.places(places[:1]))
        inside = ", ".join(describe_machine(first.member.process)) if len(ends) == 1 else ""
        inside = f" ({inside})" if inside and is_named else ""
        text = "is behind its peers" if len(ends) == 1 or tie else "are behind their peers"
        summary = members.naming(f"{text}{inside}: it {_describe_lag(first)}", places[0])
        return Finding(
            detector=self.name,
            of_looks=True,
            of_a_moment=found.movement is not RoundMovement.FROZEN,
            explained_by=ANY_CAUSE,
            kind=VerdictKind.HANG if strength > _ONE_LOOK else VerdictKind.INCONCLUSIVE,
            category=Category.HOST_STALL,
            ranks=tuple(ranks),
            nodes=tuple(nodes),
            strength=strength / len(ends) if tie else strength,
            role=Role.CULPRIT if convicts else Role.POSSIBLE,
            summary=summary,
            advice=_SECOND_LOOK if strength <= _ONE_LOOK else _HOST,
            because=tuple(self.reasons(found, members, lags)),
            one_of=tie,
        )

    def reasons(
        self, found: Round, members: MembersOfJob, lags: Sequence[Sequence[Lag]]
    ) -> Iterator[Because]:
        """Each rank, and what it is behind in."""
        looks = {RoundMovement.FROZEN: ", the same in two looks"}.get(found.movement, "")
        each = max(_MAX_REASONS // len(lags), 1)
        for own in lags[:_MAX_REASONS]:
            for lag in own[:each]:
                look = members.look_of(lag.member)
                who = members.words(lag.member.process, look)
                text = f"{who} {_describe_lag(lag)}{looks}"
                yield Because(self.name, text, look.artifact, lag.member.line)


def _list_counted_lags(end: EndOfWaits) -> list[Lag]:
    """What an end is behind in, but for that it does not answer: that is another claim."""
    silent = any(lag.operation == ABSENT for lag in end.lags)
    return [] if silent else list(end.lags)


def _select_behind_own_group(ends: Sequence[EndOfWaits]) -> Sequence[EndOfWaits]:
    """Of ends for which about as many wait, those that are behind in most communicators.

    A pipeline stage that waits for a receive, which no tool counts, is behind together: in its data
    groups, and not in its tensor groups. The rank that stands is behind in its own group too.
    """
    spread = [len({lag.communicator.hash for lag in _list_counted_lags(end)}) for end in ends]
    return [end for end, count in zip(ends, spread, strict=True) if count == max(spread)]


def _describe_lag(lag: Lag) -> str:
    """``launched 88201 AllGather, its 7 peers 88202``."""
    several = f"its {lag.ahead} peers" if lag.ahead != 1 else "its peer"
    if lag.operation == INIT:
        return f"has not finished the set-up of a communicator, {several} have"
    verb = "completed" if lag.completed else "launched"
    name = normalize_operation(lag.operation)
    rest = lag.communicator.size - 1
    some = "" if lag.ahead >= rest else f" of {rest}"
    return f"{verb} {lag.count} {name}, {several}{some} {'up to ' if some else ''}{lag.most}"


def _rate_strength(found: Round, *, stopped: bool) -> float:
    """What a round is worth: two looks that agree are a hang."""
    if found.movement is RoundMovement.FROZEN:
        return _FROZEN if found.dated or stopped else _FROZEN_UNDATED
    return _ONE_LOOK_STOPPED if stopped else _ONE_LOOK
