"""Who does not answer a tool that asked, and on which rank NCCL itself failed.

Processes that RAS cannot reach are gone, stopped, or cut off from the network that RAS uses. Where
other processes of a node answer it is the process; where none does it is the node, or its network.
Of the debug server's questions it tells more which of them was answered:

| ping, counters, records | stack by itself | stack by py-spy | that rank |
|---|---|---|---|
| answered | silent | answered | holds the interpreter's lock inside C |
| silent | silent | silent | is stopped or frozen, or its node hangs |
| unreachable | unreachable | unreachable | is gone |

A handler that does not exist, or a tool that is not installed, says nothing of a rank. Neither
does silence where no other rank answered: then nobody may have been asked well.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from triage.analysis.live.case import LiveCase, make_look_claim
from triage.analysis.live.communicators.rounds import own_looks
from triage.analysis.live.communicators.waits import Identity, MembersOfJob, describe_machine
from triage.analysis.live.stacks.rank_stack import get_line
from triage.domain.category import Category, VerdictKind
from triage.domain.finding import Finding
from triage.domain.live.communicator import CommunicatorRank, Presence
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process, Reply, ReplyKind
from triage.domain.report import Because

_ASYNC: Final = "ras.async_error"
_LONE: Final = 0.8
_SEVERAL_FAILED: Final = 0.6
_MAX_FAILED: Final = 4

# As the same words of NCCL in a job log; an error of CUDA or of the system names no part.
_CATEGORIES: Final = {
    "internal error": Category.SOFTWARE_FRAMEWORK,
    "invalid argument": Category.DEPENDENCY,
    "invalid usage": Category.DEPENDENCY,
}


def find_async_errors(case: LiveCase) -> Iterator[Finding]:
    """One finding per rank with an asynchronous error of its own; of several failed ranks nothing
    tells which was the first. Their peers report a remote error: they only heard of it.

    Silent: where all errors are remote ones, and where more than four ranks failed.
    """
    found = own_looks(case, Tool.RAS).last
    if found is None:
        return
    members = MembersOfJob(case, found.looks)
    failed: dict[Identity, CommunicatorRank] = {}
    for communicator in found.communicators:
        for member in communicator.ranks:
            if member.error is not None and not member.remote_error:
                failed.setdefault(members.identity_of(communicator, member), member)
    for member in failed.values() if len(failed) <= _MAX_FAILED else ():
        inside = ", ".join(describe_machine(member.process))
        lone = len(failed) == 1
        yield members.claim(
            _ASYNC,
            [members.home_of(member)],
            f'reported "{member.error}" in NCCL{f" ({inside})" if inside else ""}, its peers at'
            " most an error of another process",
            convicts=lone,
            kind=VerdictKind.CRASH,
            category=_CATEGORIES.get((member.error or "").lower(), Category.NCCL_TIMEOUT),
            strength=_LONE if lone else _SEVERAL_FAILED / len(failed),
            because=(members.explain(_ASYNC, member, f'reported "{member.error}"'),),
        )


_UNRESPONSIVE: Final = "ras.unresponsive"
# RAS calls a process dead after 60 s without an answer; silent for some seconds is less.
_DEAD: Final = 0.85
_SILENT: Final = 0.7
# Of several nodes nothing tells which went first.
_SEVERAL: Final = 0.6
_MAX_NODES: Final = 3
# Where more of the processes are silent, it is whoever asked who is cut off, or the job ends.
_MAX_SHARE: Final = 0.5
_MAX_REASONS: Final = 4


class _Unreached(NamedTuple):
    """The last word of a process that does not answer, and the look that says it."""

    reply: Reply
    look: Look

    @property
    def home(self) -> tuple[Process, Look]:
        return self.reply.process, self.look

    @property
    def dead(self) -> bool:
        return self.reply.kind is ReplyKind.UNREACHABLE


def find_unresponsive(case: LiveCase) -> Iterator[Finding]:
    """One finding per node with processes that RAS does not reach.

    Silent: where the process answered again later, where the job moves all the same, where half
    of the job is silent, or processes of more than three nodes.
    """
    looks, _, last = own_looks(case, Tool.RAS)
    members = MembersOfJob(case, looks)
    moved = last is not None and last.moved
    silent = [one for one in _find_silent_processes(looks) if one.dead or not moved]
    answered = _find_answering(looks)
    total = _count_processes(case, looks, silent, answered)
    if not silent or (total is not None and len(silent) > _MAX_SHARE * total):
        return
    by_node: dict[str, list[_Unreached]] = defaultdict(list)
    for one in silent:
        by_node[members.node_of(*one.home) or ""].append(one)
    if len(by_node) > _MAX_NODES:
        return
    alive = {members.node_of(*home) for home in answered.values()}
    for node, ones in sorted(by_node.items()):
        dead = any(one.dead for one in ones)
        state = "dead" if dead else "silent"
        those = f"({len(ones)} processes are {state})"
        if _is_whole_node(ones, looks, node in alive):
            text = (
                "do not answer NCCL RAS, nor does any other process of the node: the node or its"
                f" network is gone {those}"
            )
        elif len(ones) == 1:
            inside = ", ".join([*describe_machine(ones[0].reply.process), state])
            text = f"does not answer NCCL RAS ({inside}): its process is gone, stopped or cut off"
        else:
            text = f"do not answer NCCL RAS {those}: they are gone, stopped or cut off"
        lone = len(by_node) == 1
        yield members.claim(
            _UNRESPONSIVE,
            [one.home for one in ones],
            text,
            convicts=lone,
            subject=f"the processes on {members.node_of(*ones[0].home)}" if len(ones) > 1 else "",
            kind=VerdictKind.CRASH if dead else VerdictKind.HANG,
            category=Category.NCCL_TIMEOUT,
            strength=(_DEAD if dead else _SILENT) if lone else _SEVERAL / len(by_node),
            advice="look whether the process and its node are there, and at their kernel log",
            because=tuple(
                Because(
                    _UNRESPONSIVE,
                    f"{members.words(*one.home)} does not answer: {one.reply.detail}",
                    one.look.artifact,
                    one.reply.line,
                )
                for one in ones[:_MAX_REASONS]
            ),
        )


_ProcessId = tuple[str | None, int | None]


def _find_silent_processes(looks: Sequence[Look]) -> list[_Unreached]:
    """The processes whose last word in all looks is that they do not answer, by host and pid."""
    last: dict[_ProcessId, _Unreached] = {}
    for look in sorted(looks, key=lambda look: look.order):
        if look.stamp.wall_ns is not None:
            for key in _find_answering([look]):
                last.pop(key, None)
        for reply in look.replies:
            key = (reply.process.host, reply.process.pid)
            if key not in last or not last[key].dead or reply.kind is ReplyKind.UNREACHABLE:
                last[key] = _Unreached(reply, look)
    return [last[key] for key in sorted(last, key=repr)]


def _find_answering(looks: Sequence[Look]) -> Mapping[_ProcessId, tuple[Process, Look]]:
    return {
        (member.process.host, member.process.pid): (member.process, look)
        for look in looks
        for communicator in look.communicators
        for member in communicator.ranks
        if member.presence is Presence.ANSWERED and member.process.pid is not None
    }


def _count_processes(
    case: LiveCase,
    looks: Sequence[Look],
    silent: Sequence[_Unreached],
    answered: Mapping[_ProcessId, tuple[Process, Look]],
) -> int | None:
    """How many processes the job has; None where nothing says it."""
    world = case.world_size or case.fleet.world_size
    world = world or max((look.num_gpus or 0 for look in looks), default=0)
    listed = {(one.reply.process.host, one.reply.process.pid) for one in silent} | answered.keys()
    return max(world, len(listed) if answered else 0) or None


def _is_whole_node(ones: Sequence[_Unreached], looks: Sequence[Look], alive: bool) -> bool:
    """Whether no process of a node answers: as many are silent as it has, of two or more."""
    if alive or len(ones) < 2:
        return False
    per_node = [look.per_node for look in looks if look.per_node is not None]
    return not per_node or len(ones) >= min(per_node)


_NAME: Final = "debug_server.silent"
# Answered from outside by the kernel, or by what reads memory: it says nothing of who was asked.
_FROM_OUTSIDE: Final = frozenset({"proc", "py_spy"})
# The handler that runs inside the process and needs the interpreter's lock.
_NEEDS_THE_LOCK: Final = frozenset({"dump_traceback", "stacks"})
_MAX_NAMED: Final = 16
# The kernel's answer to whether there is a process of a rank at all.
_PRESENCE: Final = "process"
_NOT_ANSWERED: Final = frozenset({ReplyKind.SILENT, ReplyKind.UNREACHABLE})
# Not answered in a second look either.
_AGAIN: Final = 0.05
# It fell silent when the job hung already.
_LATE: Final = 0.45
_OF_TWO: Final = 0.7


class _Silence(StrEnum):
    """Why a process may not answer."""

    HOLDS_THE_LOCK = "holds_the_lock"
    STOPPED = "stopped"
    GONE = "gone"
    UNCLEAR = "unclear"  # one question alone was asked, and not answered


_CLAIMS: Final = {
    _Silence.HOLDS_THE_LOCK: (
        0.9,
        "stopped{at}, which holds the interpreter's lock (GIL) inside C or C++ code",
    ),
    _Silence.STOPPED: (
        0.85,
        "stopped answering at all: a process that is stopped or frozen (signal, debugger,"
        " container), or a node that hangs",
    ),
    _Silence.GONE: (0.85, "ended: nothing listens at its address any more"),
    _Silence.UNCLEAR: (0.6, "did not answer the debug server, as the others did"),
}
"""What each kind of silence is worth, and the clause about the rank."""
_NO_PROCESS: Final = "ended: no process of it is there any more, where its neighbours run"


class _Answer(NamedTuple):
    """One reply, and the place of its look in the order of the case."""

    order: int
    reply: Reply
    artifact: str

    @property
    def missed(self) -> bool:
        return self.reply.kind in _NOT_ANSWERED


@dataclass(slots=True)
class _Asked:
    """What one process answered, by handler: the answers in the order of the looks."""

    rank: int | None
    node: str | None
    replies: dict[str, list[_Answer]] = field(default_factory=lambda: defaultdict(list))

    @property
    def last(self) -> dict[str, ReplyKind]:
        """The newest answer to each handler; those of a tool that failed are left out."""
        newest = {handler: answers[-1].reply.kind for handler, answers in self.replies.items()}
        return {name: kind for name, kind in newest.items() if kind is not ReplyKind.TOOL_FAILED}

    @property
    def silence(self) -> _Silence | None:
        """Why it may not answer; None where it does, or where nobody asked."""
        last = {
            handler: kind
            for handler, kind in self.last.items()
            if handler not in _FROM_OUTSIDE
            and not (handler == _PRESENCE and kind is ReplyKind.ANSWERED)
        }
        kinds = set(last.values())
        if not kinds or kinds == {ReplyKind.ANSWERED}:
            return None
        if ReplyKind.ANSWERED in kinds:
            needs_it = any(last.get(one) is ReplyKind.SILENT for one in _NEEDS_THE_LOCK)
            return _Silence.HOLDS_THE_LOCK if needs_it else None
        if kinds == {ReplyKind.UNREACHABLE}:
            return _Silence.GONE
        return _Silence.STOPPED if len(last) > 1 else _Silence.UNCLEAR

    @property
    def ever_answered(self) -> bool:
        every = (one for answers in self.replies.values() for one in answers)
        return any(one.reply.kind is ReplyKind.ANSWERED for one in every)

    def fell_silent_behind(self, others: Sequence["_Asked"]) -> bool:
        """Whether it answered a question once that another one did not answer at that time."""
        return any(
            one.reply.kind is ReplyKind.ANSWERED
            and any(
                one.order == theirs.order and theirs.missed
                for other in others
                if other is not self
                for theirs in other.replies.get(handler, ())
            )
            for handler, answers in self.replies.items()
            if answers[-1].missed
            for one in answers[:-1]
        )


def find_silent_processes(case: LiveCase) -> Iterator[Finding]:
    """One finding for each process that does not answer the debug server while others do.

    Silent: where half of the processes do not answer, or none does.
    """
    asked = _list_asked(case)
    silent = [(one, why) for one in asked if (why := one.silence) is not None]
    answering = sum(one.ever_answered for one in asked)
    # Who answers nothing at all. Of more of them the network of the asker is at fault.
    dumb = sum(why is not _Silence.HOLDS_THE_LOCK for _, why in silent)
    others = [one for one, _ in silent]
    late = [one for one in others if one.fell_silent_behind(others)]
    if not silent or len(silent) > _MAX_NAMED:
        return
    if not late and (not answering or dumb > _MAX_SHARE * len(asked)):
        return
    for one, why in silent:
        yield _make_silent_claim(one, why, case, answering, late=one in late)


def _list_asked(case: LiveCase) -> list[_Asked]:
    """Every process that was asked anything, by rank; launchers are not."""
    found: dict[tuple[object, ...], _Asked] = {}
    for order, look in enumerate(case.looks):
        # Whom RAS does not reach is a claim of its own.
        for reply in look.replies if look.tool is not Tool.RAS else ():
            rank = case.rank_of(reply.process, look)
            node = case.node_of(reply.process, look)
            key = (rank,) if rank is not None else (node, reply.process.pid, reply.process.host)
            one = found.setdefault(key, _Asked(rank, node))
            one.replies[reply.handler].append(_Answer(order, reply, look.artifact))
    for one in found.values():
        for answers in one.replies.values():
            answers.sort(key=lambda answer: case.looks[answer.order].order)
    ordered = sorted(found.items(), key=lambda item: [str(part).zfill(8) for part in item[0]])
    return [one for _, one in ordered]


def _make_silent_claim(
    one: _Asked, silence: _Silence, case: LiveCase, answering: int, *, late: bool
) -> Finding:
    worth, words = _CLAIMS[silence]
    line = _find_line(one, case)
    if any(sum(answer.missed for answer in answers) > 1 for answers in one.replies.values()):
        worth += _AGAIN
    strength = min(worth, 1.0 if answering > 1 or late else _OF_TWO)
    gone = silence is _Silence.GONE
    # The kernel of its node says that it is gone.
    no_process = one.last.get(_PRESENCE) is ReplyKind.UNREACHABLE
    summary = _NO_PROCESS if no_process else words.format(at="" if line is None else f" in {line}")
    return make_look_claim(
        _NAME,
        summary,
        ranks=(one.rank,),
        or_nodes=(one.node,),
        convicts=not late,
        kind=VerdictKind.CRASH if gone else VerdictKind.HANG,
        category=Category.NCCL_TIMEOUT if gone else Category.HOST_STALL,
        strength=min(strength, _LATE) if late else strength,
        because=tuple(_list_reasons(one, silence, late=late)),
    )


def _find_line(one: _Asked, case: LiveCase) -> str | None:
    """The line at which py-spy shows a process that could not answer by itself."""
    own = (stack for stack in case.picture.ranks if stack.rank is not None)
    lines = (get_line(stack) for stack in own if stack.rank == one.rank)
    return next((line for line in lines if line is not None), None)


_ANSWERS: Final = {
    ReplyKind.ANSWERED: "answered",
    ReplyKind.SILENT: "did not answer in time (408)",
    ReplyKind.UNREACHABLE: "could not be reached (503)",
}


def _list_reasons(one: _Asked, silence: _Silence, *, late: bool) -> Iterator[Because]:
    name = f"rank {one.rank}" if one.rank is not None else f"the process on {one.node}"
    newest = [(handler, answers[-1]) for handler, answers in one.replies.items()]
    newest.sort(key=lambda row: (row[1].reply.kind is ReplyKind.ANSWERED, row[1].artifact))
    for handler, (_, reply, artifact) in newest:
        if reply.kind in _ANSWERS:
            text = f"{name} {_ANSWERS[reply.kind]} to {handler}"
            if handler == _PRESENCE and reply.kind is ReplyKind.UNREACHABLE:
                text = f"{name} has no process any more where its neighbours run"
            yield Because(_NAME, text, artifact, reply.line)
    if silence is _Silence.HOLDS_THE_LOCK:
        yield Because(_NAME, "a process that answers all but its own stack holds its lock (GIL)")
    if late:
        yield Because(_NAME, "it still answered when another rank did not any more")
