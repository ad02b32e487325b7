"""The decision about the next start of a job: its cause, the nodes to leave out, and the record.

The record is what earlier starts of the same job ended by. It lowers the number of starts that
are worth trying, and ends them; verdict, suspects and confidence never depend on it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from triage.analysis.joining.join import Ranking
from triage.analysis.restart.policy import UNKNOWN_CAUSE, Policy, choose_policy
from triage.domain.category import HARDWARE, OF_THE_NODE, Category, Role, VerdictKind
from triage.domain.counts import list_some
from triage.domain.hosts import is_host_name
from triage.domain.report import Suspect, Verdict
from triage.domain.restart import NO_STARTS, EarlierEnd, EarlierStarts, Restart, RestartDecision

_RESTART, _WITHOUT = RestartDecision.RESTART, RestartDecision.RESTART_WITHOUT
_STOP, _WAIT = RestartDecision.STOP, RestartDecision.WAIT
# A start that fails again costs some 25 minutes, a job that stands still an hour or more:
# stopping and waiting pay where the cause is believed as much as 60 in 85.
_SURE: Final = 0.7
# Of nodes that are only possible, so many are left out, each believed as much as this ...
_MAX_POSSIBLE: Final = 2
_LEAST_BELIEF: Final = 0.25
# ... and no more than one in so many nodes of the job.
_ONE_IN: Final = 4
_BY_NUMBER: Final = (
    "Only the number of a rank says which node it was, and nothing that ran there agrees: find out"
    " where it ran, and leave that node out"
)


@dataclass(frozen=True, slots=True)
class StopCause:
    """What a verdict rests on: ``signatures`` of its lines, the telling ones first; ``outside``
    is whether it is in no node.
    """

    signatures: tuple[str, ...] = ()
    outside: bool = False
    by_number: frozenset[str] = frozenset()
    """Nodes that nothing but the number of a rank names: they are left in."""


def decide_restart(
    verdict: Verdict,
    suspects: Sequence[Suspect],
    num_nodes: int | None,
    cause: StopCause,
    starts: EarlierStarts = NO_STARTS,
) -> Restart | None:
    """Whether to start the job again, without which nodes, and how often; None where nothing
    stopped it and nobody is convicted of slowing it down.

    ``num_nodes`` are those of the job, None where nobody says; ``starts`` is the record.
    """
    if verdict.kind is VerdictKind.HEALTHY:
        return None
    if VerdictKind.STRAGGLER in (verdict.kind, verdict.category):
        named = (one for one in suspects if one.node not in cause.by_number)
        slow = _list_nodes(one for one in named if one.role is Role.CULPRIT)
        why = f"The job goes on, held up by {list_some(slow, 4)}: start without, from a checkpoint."
        return Restart(_WITHOUT, slow, 1, why) if slow else None
    policy = UNKNOWN_CAUSE
    if verdict.kind is not VerdictKind.INCONCLUSIVE:
        policy = choose_policy(verdict.category, cause.signatures, outside=cause.outside)
    repeats = _count_repeats(verdict.category, starts)
    exclude: tuple[str, ...] = ()
    if policy.decision in (_STOP, _WAIT) and verdict.confidence < _SURE and not repeats.ends:
        why = f"{policy.why}, but that is not sure ({verdict.confidence:.2f}): one start tells"
        policy = Policy(_RESTART, 1, why)
    elif policy.decision is _WITHOUT:
        policy, exclude = _choose_exclusions(policy, verdict.category, suspects, num_nodes, cause)
    elif policy.decision is _RESTART:
        # Convicted nodes that ended a start before this one by the same cause.
        before = {node for end in repeats.ends for node in end.nodes} - cause.by_number
        convicted = _list_nodes(
            one for one in suspects if one.role is Role.CULPRIT and one.category in OF_THE_NODE
        )
        exclude = tuple(node for node in convicted if node in before)
        if exclude:
            why = f"{list_some(exclude, 4)} ended it before, too"
            policy = Policy(_WITHOUT, policy.retries, why)
    return _apply_record(policy, exclude, verdict.category, starts, repeats)


def _choose_exclusions(
    policy: Policy,
    category: Category,
    suspects: Sequence[Suspect],
    num_nodes: int | None,
    cause: StopCause,
) -> tuple[Policy, tuple[str, ...]]:
    """The policy and the nodes to leave out: convicted ones, else a few that are possible."""
    own = [one for one in suspects if one.category is category or one.category in HARDWARE]
    if any(one.node in cause.by_number for one in own):
        own = [one for one in own if one.node not in cause.by_number]
        if not own:
            return Policy(_RESTART, 1, _BY_NUMBER), ()
    convicted = _list_nodes(one for one in own if one.role is Role.CULPRIT)
    if convicted:
        everywhere = len(convicted) > 1 and not _is_cheap(len(convicted), num_nodes)
        if everywhere and category not in HARDWARE:
            return Policy(_STOP, 0, f"It is so on {len(convicted)} nodes, so on most of them"), ()
        return policy, convicted
    possible = _list_nodes(
        one for one in own if one.role is Role.POSSIBLE and one.score >= _LEAST_BELIEF
    )
    if 0 < len(possible) <= _MAX_POSSIBLE and _is_cheap(len(possible), num_nodes):
        either = "It may be" if len(possible) == 1 else "It is one of them, or their connection, of"
        cheap = "leaving out costs less than another stop"
        why = f"{either} {list_some(possible, 4)}; {cheap}"
        return Policy(_WITHOUT, policy.retries, why), possible
    if possible:
        many = f"any of {len(possible)} nodes" if len(possible) > 1 else possible[0]
        why = f"It may be {many}, too much of the job to leave out: test it first"
        return Policy(_RESTART, 1, why), ()
    return Policy(_RESTART, 1, "Nothing tells which node to leave out, so one start is tried"), ()


def _is_cheap(num: int, num_nodes: int | None) -> bool:
    return num_nodes is None or num * _ONE_IN <= num_nodes


# A start that ended within this has loaded its data and done hardly a step.
_AT_ONCE_S: Final = 600.0
# So many restarts in a row that ended at once are no accident.
_LEAST_AT_ONCE: Final = 2
# A start that ran this long was worth it: what ended it begins a new count.
_LASTED_S: Final = 3600.0
_NO_CAUSE: Final = (Category.NONE, Category.NCCL_TIMEOUT)


@dataclass(frozen=True, slots=True)
class _Repeats:
    """``ends`` are the ends right before this one by the same cause, the newest first.

    ``at_once`` is whether all restarts among them, and that of now, ended within minutes;
    ``sentence`` says how many, without a full stop, and is empty where there is none.
    """

    ends: tuple[EarlierEnd, ...]
    at_once: bool
    sentence: str


def _count_repeats(category: Category, starts: EarlierStarts) -> _Repeats:
    """The ends in a row by ``category`` that the record has, back to a start that lasted.

    Each of ``ends`` was followed by a restart, so the first failure is none, and this one is.
    """
    ends: list[EarlierEnd] = []
    ran_s = starts.ran_s
    for end in starts.ends:
        if end.category is not category or (ran_s is not None and ran_s >= _LASTED_S):
            break
        ends.append(end)
        ran_s = end.ran_s
    if not ends:
        return _Repeats((), at_once=False, sentence="")
    lengths = [starts.ran_s, *(end.ran_s for end in ends[:-1])]
    known = [length for length in lengths if length is not None]
    within = f" within {_format_duration(max(known))}" if len(known) == len(lengths) else ""
    what = "This cause has" if category not in _NO_CAUSE else "Stops without a known cause have"
    soon = bool(within) and max(known) <= _AT_ONCE_S
    num, num_all = len(ends), len(starts.ends)
    of_all = f"{num} of {num} restart{'s' * (num != 1)}"
    which = of_all if num == num_all else f"the last {num} of {num_all} restarts"
    at_once = soon and len(lengths) >= _LEAST_AT_ONCE
    return _Repeats(tuple(ends), at_once, f"{what} ended {which}{within}")


def _format_duration(seconds: float) -> str:
    """``3 minutes``: a bound, so it is rounded up."""
    if seconds <= 90:
        number, unit = max(1, ceil(seconds)), "second"
    elif seconds <= 5400:
        number, unit = ceil(seconds / 60), "minute"
    else:
        number, unit = ceil(seconds / 3600), "hour"
    return f"{number} {unit}{'s' * (number != 1)}"


def _list_nodes(suspects: Iterable[Suspect]) -> tuple[str, ...]:
    """Their nodes, as far as a scheduler can have them; others are of nobody's nodes."""
    names = (one.node for one in suspects if one.node is not None)
    return tuple(dict.fromkeys(name for name in names if is_host_name(name)))


def _apply_record(
    policy: Policy,
    exclude: tuple[str, ...],
    category: Category,
    starts: EarlierStarts,
    repeats: _Repeats,
) -> Restart:
    """The policy held against how earlier starts ended."""
    told = repeats.sentence
    left = policy.retries - len(repeats.ends)
    if policy.decision is _STOP:
        return Restart(_STOP, (), 0, _compose_sentences(policy.why, told))
    if policy.decision is _WAIT:
        return Restart(_WAIT, (), max(left, 1), _compose_sentences(policy.why, told))
    if not starts.ends and starts.restarts:
        times = "once" if starts.restarts == 1 else f"{starts.restarts} times"
        told = f"It was started again {times} before, and no record says how those starts ended"
        left = max(policy.retries - starts.restarts, 1)
    if left > 0 and not repeats.at_once:
        return Restart(policy.decision, exclude, left, _compose_sentences(policy.why, told))
    still = tuple(
        node for node in exclude if repeats.ends and all(node in end.nodes for end in repeats.ends)
    )
    if still:
        was = "was in each of them: leave it out"
        why = _compose_sentences(policy.why, told, f"{list_some(still, 4)} {was}")
        return Restart(_WITHOUT, exclude, policy.retries, why)
    if category is Category.HOST_MAINTENANCE:
        why = _compose_sentences(policy.why, told, "Wait until whoever takes it down is done")
        return Restart(_WAIT, (), 1, why)
    return Restart(
        _STOP, (), 0, _compose_sentences(told, "Somebody has to look before it starts again")
    )


def _compose_sentences(*parts: str) -> str:
    return " ".join(f"{part}." for part in parts if part)


# Lines of one cause; those about the stop come first.
_MAX_ROWS: Final = 8


def stop_cause(ranking: Ranking) -> StopCause:
    """The lines of the best belief in the verdict's category; none where there is no such one."""
    category = ranking.decision.verdict.category
    causes = (belief.hypothesis for belief in ranking.beliefs)
    cause = next((one for one in causes if one.category is category), None)
    by_number = ranking.decision.by_number
    if cause is None:
        return StopCause(by_number=by_number)
    signatures = tuple(dict.fromkeys(row.signature for row in cause.rows[:_MAX_ROWS]))
    return StopCause(signatures, cause.in_no_node, by_number)
