"""What the stacks of all ranks show: who stands apart, who is held, or that nobody is.

*Odd one*: nobody leaves a collective before all its members came. So who stands outside any wait
while the others wait, and does not move, is whom they wait for, whatever the program is; and who
waits is a victim.

*Odd wait*: who waits in another collective than all the others left one out, or went into one too
many; which of both sides is wrong, stacks do not tell. The few are whom to look at.

*All alike*: what holds them is below the program: a device, the fabric, NCCL, or a rank of which
there is no stack. Public cases of 512 and 704 processes look like this.

*Held*: uninterruptible sleep in a file system, a stop by a signal, a zombie: what the kernel says
of a process is telling where no stack shows who waits.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from triage.analysis.live.case import LiveCase, make_look_claim
from triage.analysis.live.communicators.rounds import are_counters_moving, are_looks_moving
from triage.analysis.live.stacks.picture import StackClass, find_odd_waits, group_stacks, split
from triage.analysis.live.stacks.program_points import PROGRAMS, ProgramPoint
from triage.analysis.live.stacks.rank_stack import (
    RankStack,
    StackMovement,
    describe_frame,
    describe_where,
    describe_who,
    explain_stack,
)
from triage.domain.category import ANY_CAUSE, HARDWARE, SOFTWARE, Category, VerdictKind
from triage.domain.finding import Finding
from triage.domain.report import Because

_ODD: Final = "stacks.odd_one"
# From so many ranks that wait on, one that works on is odd.
_LEAST_WAITING: Final = 3
# Ranks of one place that are named; beyond, it is what they share.
_MAX_RANKS: Final = 16
# What a stack is worth by how many wait: of two ranks nobody is the odd one.
_ONE_LOOK: Final = {1: 0.45, 2: 0.65}
_TWO_LOOKS: Final = {1: 0.8, 2: 0.88}
_ONE_LOOK_OF_MANY: Final = 0.85
_TWO_LOOKS_OF_MANY: Final = 0.95
# Where several places are odd, each may be why.
_SEVERAL: Final = 0.75
# What may be the device's doing, or end by itself.
_UNSURE: Final = {ProgramPoint.DISPATCH: 0.4, ProgramPoint.COMPILE: 0.6}
_UNSURE_TWICE: Final = {ProgramPoint.DISPATCH: 0.55, ProgramPoint.COMPILE: 0.65}
_MAX_REASONS: Final = 4
# Late in two looks; the looks of a job that goes on may meet it there by chance.
_SLOW: Final = 0.7
_MAYBE_SLOW: Final = 0.45
_HOSTS_WOKE: Final = "the main thread of every rank slept and woke between the two looks"
_COUNTERS_MOVED: Final = "the ranks launched more operations between the two looks"
# It works while nobody else woke once; it may still come to its end.
_ALONE_AT_WORK: Final = 0.7
# Beside a rank that stands in a loader or a lock, these are more likely on their way.
_WEAK: Final = frozenset({ProgramPoint.CODE, ProgramPoint.DISPATCH, ProgramPoint.COMPILE})
_SHARED: Final = "look at the storage or service that they use"
_UNKNOWN: Final = "find out which rank that process is: by its node, or by names such as rank_3.txt"


def find_odd_stacks(case: LiveCase) -> Iterator[Finding]:
    """One finding for each place at which ranks stand while others wait.

    Where every host works on between two looks it is slow rather than stuck.
    Silent: where nobody waits, where the ranks that waited went on, and where no rank is known.
    """
    waiting, outside = split(case.picture)
    if case.picture.job_moves or not waiting or not outside:
        return
    # Two looks show ranks of the others at different places of what they do.
    stuck = [one for one in outside if any(of.moved is not StackMovement.BUSY for of in one.stacks)]
    where = describe_where((stuck or outside)[0].example)
    if not stuck:
        # Slow at most, since they move. Where none of those that wait woke once in between, all
        # wait for the one that works.
        alone = outside[0].ranks and all(of.rank in case.ranks_asleep for of in waiting)
        strength = _ALONE_AT_WORK if alone else _MAYBE_SLOW
        summary = f"moved between two looks, {where}, while the others stood"
        yield from _find_late_ranks("stacks.busy", outside, waiting, strength, summary)
    elif case.hosts_move or are_counters_moving(case):
        # At one place in two looks, in a job that goes on: they are late each time.
        why, strength = (_HOSTS_WOKE, _SLOW) if case.hosts_move else (_COUNTERS_MOVED, _MAYBE_SLOW)
        summary = f"is slow and does not hang: seen twice {where}, while all go on"
        more = (Because(_ODD, why),)
        yield from _find_late_ranks("stacks.slow", stuck, waiting, strength, summary, more)
    else:
        named = [one for one in stuck if one.point not in _WEAK] or stuck
        for one in named:
            yield _make_odd_claim(one, waiting, others=len(named) - 1)
        for one in stuck:
            if one not in named:
                yield _make_odd_claim(one, waiting, others=len(stuck) - 1, possible=True)


def _rate_strength(one: StackClass, waiting: Sequence[RankStack], *, others: int) -> float:
    """What the claim is worth, by how many wait, how often they were looked at, and for what."""
    twice = one.stands
    of_many = _TWO_LOOKS_OF_MANY if twice else _ONE_LOOK_OF_MANY
    strength = (_TWO_LOOKS if twice else _ONE_LOOK).get(len(waiting), of_many)
    if one.point is ProgramPoint.CODE:
        # Who computes is on its way in one look, and may be slow in two.
        slow = any(stack.active for stack in one.stacks)
        strength -= (0.1 if slow else 0.02) if twice else 0.2
    if len(one.stacks) > len(waiting):
        strength *= _SEVERAL
    if any(not stack.waits for stack in waiting):
        strength -= 0.1
    most = (_UNSURE_TWICE if twice else _UNSURE).get(one.point, 1.0)
    return min(strength * (_SEVERAL if others else 1.0), most)


def _make_odd_claim(
    one: StackClass, waiting: Sequence[RankStack], *, others: int, possible: bool = False
) -> Finding:
    strength = _rate_strength(one, waiting, others=others)
    if possible:
        strength = min(strength, 0.35)
    is_many = len(one.ranks) > _MAX_RANKS and len(one.nodes) > 1
    is_storage = one.point is ProgramPoint.STORAGE
    shared = is_many or (is_storage and len(one.nodes) > 1)
    is_named = bool(one.ranks or one.nodes)
    count = len(waiting)
    where = describe_where(one.example)
    while_others = f"while {count} other rank{' waits' if count == 1 else 's wait'}"
    summary, advice = f"stopped {where}", ""
    if shared:
        advice = _SHARED
        summary = (
            f"{len(one.stacks)} ranks on {len(one.nodes)} nodes stopped {where} {while_others}:"
            " what they share is at fault rather than one of them"
        )
    elif not is_named:
        summary += f" {while_others}"
        advice = _UNKNOWN
    return make_look_claim(
        _ODD,
        summary,
        ranks=() if shared else one.ranks,
        or_nodes=() if shared else one.nodes,
        subject="" if shared else describe_who(one.example),
        convicts=strength >= 0.5 and not possible,
        kind=VerdictKind.HANG,
        category=Category.STORAGE if is_storage else Category.HOST_STALL,
        strength=round(strength, 3),
        because=tuple(_list_odd_reasons(one, waiting)),
        explained_by=ANY_CAUSE - {Category.COLLECTIVE_MISMATCH},
        of_a_moment=not one.stands,
        advice=advice,
    )


def _list_odd_reasons(one: StackClass, waiting: Sequence[RankStack]) -> Iterator[Because]:
    twice = " in two looks" if one.stands else ""
    for stack in one.stacks[:_MAX_REASONS]:
        yield explain_stack(_ODD, stack, f"stands{twice}")
        if stack.point is ProgramPoint.DATA and stack.worker is None:
            yield Because(
                _ODD,
                "the stack of its data-loader worker was not taken (py-spy dump --subprocesses):"
                " the worker says why",
            )
    if len(one.nodes) == 1 and len(one.stacks) > 1:
        yield Because(_ODD, f"all {len(one.stacks)} ranks that stand there are on {one.nodes[0]}")
    witness = waiting[0]
    frame = witness.found.told_by
    at = f", {describe_who(witness)} at {describe_frame(frame)}" if frame is not None else ""
    text = f"{len(waiting)} other ranks wait{at}" if len(waiting) > 1 else f"one waits{at}"
    yield Because(_ODD, text, witness.artifact, witness.line)


def _find_late_ranks(
    detector: str,
    outside: Sequence[StackClass],
    waiting: Sequence[RankStack],
    strength: float,
    summary: str,
    more: tuple[Because, ...] = (),
) -> Iterator[Finding]:
    """The claim that one class of ranks makes many others wait, in a job that moves."""
    one = outside[0]
    if len(outside) > 1 or len(one.stacks) > len(waiting) or len(waiting) < _LEAST_WAITING:
        return
    yield make_look_claim(
        detector,
        summary,
        ranks=one.ranks[:_MAX_RANKS],
        or_nodes=one.nodes,
        convicts=strength >= _SLOW,
        kind=VerdictKind.STRAGGLER,
        category=Category.STRAGGLER,
        strength=strength,
        because=(*_list_odd_reasons(one, waiting), *more),
        explained_by=ANY_CAUSE | {Category.STRAGGLER},
    )


_WAIT: Final = "stacks.odd_wait"
_WAIT_ONCE: Final = 0.35
_WAIT_TWICE: Final = 0.55
# A rank that was not looked at may be the one that all wait for.
_WAIT_SOME_ABSENT: Final = 0.35


def find_odd_wait(case: LiveCase) -> Iterator[Finding]:
    """One finding on the few ranks that wait elsewhere than nearly all, possible at most.

    Silent: where a rank stands outside any wait, where the job moves, and where ranks wait at
    several places as groups of a job do.
    """
    classes = [] if are_looks_moving(case) else find_odd_waits(case.picture)
    if not classes:
        return
    usual, *odd = classes
    twice = all(one.stands for one in classes)
    strength = _WAIT_TWICE if twice else _WAIT_ONCE
    if len(case.picture.ranks) < (case.world_size or case.fleet.world_size or 0):
        strength = min(strength, _WAIT_SOME_ABSENT)
    example, of_usual = odd[0].example, usual.example
    both = all(one.point is ProgramPoint.COLLECTIVE for one in classes)
    looked = " in two looks" if twice else ""
    text = f"{len(usual.stacks)} others wait{looked} {describe_where(of_usual)}"
    yield make_look_claim(
        _WAIT,
        f"waits {describe_where(example)}, and not where the others do",
        ranks=sorted(rank for one in odd for rank in one.ranks),
        or_nodes=sorted({node for one in odd for node in one.nodes}),
        subject=describe_who(example),
        kind=VerdictKind.DESYNC if twice else VerdictKind.INCONCLUSIVE,
        category=Category.COLLECTIVE_MISMATCH if both else Category.HOST_STALL,
        strength=strength,
        because=(
            *(
                explain_stack(_WAIT, stack, f"waits{looked}")
                for one in odd
                for stack in one.stacks[:_MAX_REASONS]
            ),
            Because(_WAIT, text, of_usual.artifact, of_usual.line),
        ),
        of_a_moment=not twice,
        advice="compare the way of those ranks through the program with that of the others",
        one_of=len(odd) > 1,
    )


_ALIKE: Final = "stacks.all_alike"
# From so many ranks on, their being alike says something.
_LEAST_ALIKE: Final = 2
_ALIKE_ONCE: Final = 0.4
# What holds them all may be one device: that is not known, and is said so.
_ALIKE_TWICE: Final = 0.5
# A rank that was not looked at may be the one that the others wait for.
_ALIKE_SOME_ABSENT: Final = 0.3
_MAX_PLACES: Final = 3
_BELOW: Final = (
    "look at the power and utilisation of each GPU (one idle among many that spin is the odd one),"
    " at NCCL RAS or flight-recorder dumps, at links and at NCCL's own log"
)
_MEETING: Final = "look for the ranks that did not come, and at the network between the nodes"
_MEETS: Final = frozenset({ProgramPoint.STORE, ProgramPoint.NCCL_INIT})
_ALIKE_BY: Final = (
    HARDWARE
    | SOFTWARE
    | {Category.DEPENDENCY, Category.HOST_MAINTENANCE, Category.GPU_OOM, Category.HOST_OOM}
)


def find_alike_stacks(case: LiveCase) -> Iterator[Finding]:
    """One finding on nobody where all ranks wait, so that no host is at fault.

    Silent: on one rank, where a rank stands elsewhere, and where the job moves.
    """
    picture = case.picture
    waiting, outside = split(picture)
    count = len(picture.telling)
    if are_looks_moving(case) or outside or count < _LEAST_ALIKE or len(waiting) < count:
        return
    if find_odd_waits(picture):
        return
    classes = group_stacks(picture.telling)
    twice = all(one.stands for one in classes)
    texts = [_describe_place(one) for one in classes[:_MAX_PLACES]]
    places = " or ".join(texts)
    # Of how many ranks there is no stack; where no rank is known, by processes.
    seen = {one.rank for one in picture.ranks}
    absent = (case.world_size or case.fleet.world_size or 0) - (
        len(picture.ranks) if None in seen else len(seen)
    )
    those = "none of these hosts" if absent > 0 else "no host"
    summary = f"all {count} ranks wait {places}: {those} is at fault"
    if len(classes) > 1:
        summary = (
            f"all {count} ranks wait, at {len(classes)} places of the program ({places}), and"
            " stacks alone do not tell who is waited for"
        )
    strength = (_ALIKE_TWICE if twice else _ALIKE_ONCE) - 0.1 * (len(classes) > 1)
    if absent > 0:
        summary += f"; of {absent} ranks there is no stack"
        strength = _ALIKE_SOME_ABSENT
    looked = " in both looks" if twice else ""
    yield make_look_claim(
        _ALIKE,
        summary,
        # A job that runs well looks the same for the blink of an eye.
        kind=VerdictKind.HANG if twice else VerdictKind.INCONCLUSIVE,
        category=Category.NCCL_TIMEOUT,
        strength=strength,
        because=tuple(
            Because(
                _ALIKE,
                f"{len(one.stacks)} ranks wait{looked} {text}",
                one.example.artifact,
                one.example.line,
            )
            for one, text in zip(classes, texts, strict=False)
        ),
        explained_by=_ALIKE_BY,
        of_a_moment=not twice,
        advice=_MEETING if all(one.point in _MEETS for one in classes) else _BELOW,
    )


def _describe_place(one: StackClass) -> str:
    line = one.example.found.told_by
    at = f" at {describe_frame(line)}" if line is not None else ""
    return f"{PROGRAMS['waiting_words'].get(one.point, 'at one line')}{at}"


_HELD: Final = "stacks.held"
_HELD_AS: Final = {
    ProgramPoint.STORAGE: Category.STORAGE,
    ProgramPoint.STOPPED: Category.HOST_STALL,
    ProgramPoint.GONE: Category.NCCL_TIMEOUT,
}
# A process is in the kernel's hands for a moment in every read; nothing says that others wait.
_HELD_STRENGTH: Final = 0.6


def find_held_processes(case: LiveCase) -> Iterator[Finding]:
    """One finding for each way in which processes are held.

    Silent: on none, and on ranks that stand apart from ranks that wait: :func:`find_odd_stacks`
    speaks of those.
    """
    picture = case.picture
    seen = picture.strangers if split(picture)[0] else (*picture.ranks, *picture.strangers)
    by_point: dict[ProgramPoint, list[RankStack]] = defaultdict(list)
    for stack in seen:
        if stack.point in _HELD_AS:
            by_point[stack.point].append(stack)
    for point, stacks in by_point.items():
        nodes = tuple(sorted({one.node for one in stacks if one.node is not None}))
        in_storage = point is ProgramPoint.STORAGE
        shared = in_storage and len(nodes) > 1
        count = len(stacks)
        yield make_look_claim(
            _HELD,
            f"stopped {describe_where(stacks[0])}",
            ranks=() if shared else (one.rank for one in stacks),
            or_nodes=() if shared else nodes,
            subject=describe_who(stacks[0]) if count == 1 else f"{count} processes",
            convicts=True,
            kind=VerdictKind.CRASH if point is ProgramPoint.GONE else VerdictKind.HANG,
            category=_HELD_AS[point],
            strength=_HELD_STRENGTH,
            because=tuple(explain_stack(_HELD, one, "stands") for one in stacks[:_MAX_REASONS]),
            of_a_moment=in_storage,
            advice="look at the file system that it waits for"
            if in_storage
            else "find out whose process it is",
        )
