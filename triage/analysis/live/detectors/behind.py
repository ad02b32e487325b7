"""Behind: a rank has launched fewer operations than its peers, who wait for it.

Its host did not launch them: it stands in its own code, is held, or its process is gone. Ranks that
wait for such a rank in another communicator are behind too, and are not named.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from triage.analysis.live.case import LiveCase, make_look_claim
from triage.analysis.live.communicators.levels import ABSENT, INIT, normalize_operation
from triage.analysis.live.communicators.rounds import Round
from triage.analysis.live.communicators.waits import EndOfWaits, Lag, find_waits
from triage.analysis.live.communicators.who import MembersOfJob, describe_machine
from triage.analysis.live.jobs import find_standing_round
from triage.domain.category import Category, Role, VerdictKind
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
        found = find_standing_round(case, self.tool)
        if found is None or (case.moving and not found.frozen):
            return
        members = MembersOfJob(case, found.looks)
        waiting = [one for look in found.looks for one in look.waiting]
        waits = find_waits(found.communicators, members.identity_of, waiting)
        # That a rank does not answer is another claim.
        ends = [
            end for end in waits if end.lags and ABSENT not in {lag.operation for lag in end.lags}
        ]
        if not ends:
            return
        alike = _select_behind_own_group(
            [end for end in ends if end.waiting >= _ALIKE * ends[0].waiting]
        )
        nodes = {members.node_of(*members.home_of(end.lags[0].member)) for end in alike}
        one_node = len(nodes) == 1 and None not in nodes
        if len(alike) > _MAX_ALIKE and not one_node:
            return
        yield self.finding(found, members, alike, tie=len(alike) > 1 and not one_node)

    def finding(
        self, found: Round, members: MembersOfJob, ends: Sequence[EndOfWaits], *, tie: bool
    ) -> Finding:
        """The claim on the ranks of ``ends``; of a ``tie`` one of them is meant."""
        strength = _rate_strength(found, stopped=members.case.stopped)
        places = [members.home_of(end.lags[0].member) for end in ends]
        ranks, nodes = members.places(places)
        convicts = strength > _ONE_LOOK and not tie and bool(ranks or nodes)
        first = ends[0].lags[0]
        is_named = any(members.places(places[:1]))
        inside = ", ".join(describe_machine(first.member.process)) if len(ends) == 1 else ""
        inside = f" ({inside})" if inside and is_named else ""
        text = "is behind its peers" if len(ends) == 1 or tie else "are behind their peers"
        return make_look_claim(
            detector=self.name,
            of_a_moment=not found.frozen,
            kind=VerdictKind.HANG if strength > _ONE_LOOK else VerdictKind.INCONCLUSIVE,
            category=Category.HOST_STALL,
            ranks=tuple(ranks),
            nodes=tuple(nodes),
            strength=strength / len(ends) if tie else strength,
            role=Role.CULPRIT if convicts else Role.POSSIBLE,
            summary=members.naming(f"{text}{inside}: it {_describe_lag(first)}", places[0]),
            advice=_SECOND_LOOK if strength <= _ONE_LOOK else _HOST,
            because=tuple(self.reasons(found, members, ends)),
            one_of=tie,
        )

    def reasons(
        self, found: Round, members: MembersOfJob, ends: Sequence[EndOfWaits]
    ) -> Iterator[Because]:
        """Each rank, and what it is behind in."""
        looks = ", the same in two looks" if found.frozen else ""
        each = max(_MAX_REASONS // len(ends), 1)
        for end in ends[:_MAX_REASONS]:
            for lag in end.lags[:each]:
                yield members.explain(self.name, lag.member, f"{_describe_lag(lag)}{looks}")


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
    verb = "completed" if lag.completed else "launched"
    name = normalize_operation(lag.operation)
    rest = lag.communicator.size - 1
    some = "" if lag.ahead >= rest else f" of {rest}"
    return f"{verb} {lag.count} {name}, {several}{some} {'up to ' if some else ''}{lag.most}"


def _rate_strength(found: Round, *, stopped: bool) -> float:
    """What a round is worth: two looks that agree are a hang."""
    if found.frozen:
        return _FROZEN if found.dated or stopped else _FROZEN_UNDATED
    return _ONE_LOOK_STOPPED if stopped else _ONE_LOOK
