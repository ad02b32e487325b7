"""Silent processes: who did not answer what the debug server asked every rank.

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
from typing import Final

from triage.analysis.live.case import LiveCase, make_look_claim
from triage.analysis.live.stacks.words import describe_frame, get_line
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.finding import Finding
from triage.domain.hosts import make_natural_key
from triage.domain.live.look import Tool
from triage.domain.live.process import Process, Reply, ReplyKind
from triage.domain.report import Because

_NAME: Final = "debug_server.silent"
# Answered from outside by the kernel, or by what reads memory: it says nothing of who was asked.
_FROM_OUTSIDE: Final = frozenset({"proc", "py_spy"})
# The handler that runs inside the process and needs the interpreter's lock.
_NEEDS_THE_LOCK: Final = frozenset({"dump_traceback", "stacks"})
_MAX_NAMED: Final = 16
# The kernel's answer to whether there is a process of a rank at all.
_PRESENCE: Final = "process"
# Of more than this share of those asked, the network of the asker is at fault.
_MAX_SHARE: Final = 0.5


class _Silence(StrEnum):
    """Why a process may not answer."""

    HOLDS_THE_LOCK = "holds_the_lock"
    STOPPED = "stopped"
    GONE = "gone"
    UNCLEAR = "unclear"  # one question alone was asked, and not answered


@dataclass(slots=True)
class _Asked:
    """What one process answered, by handler: the kinds in the order of the looks."""

    process: Process
    rank: int | None
    node: str | None
    replies: dict[str, list[tuple[int, Reply, str]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    @property
    def last(self) -> Mapping[str, Reply]:
        """The newest answer to each handler; those of a tool that failed are left out."""
        newest = {handler: replies[-1][1] for handler, replies in self.replies.items()}
        return {
            handler: reply
            for handler, reply in newest.items()
            if reply.kind is not ReplyKind.TOOL_FAILED
        }

    @property
    def silence(self) -> _Silence | None:
        """Why it may not answer; None where it does, or where nobody asked."""
        last = {
            handler: reply
            for handler, reply in self.last.items()
            if handler not in _FROM_OUTSIDE
            and not (handler == _PRESENCE and reply.kind is ReplyKind.ANSWERED)
        }
        kinds = {reply.kind for reply in last.values()}
        if not kinds or kinds == {ReplyKind.ANSWERED}:
            return None
        if ReplyKind.ANSWERED in kinds:
            needs_it = any(
                handler in _NEEDS_THE_LOCK and reply.kind is ReplyKind.SILENT
                for handler, reply in last.items()
            )
            return _Silence.HOLDS_THE_LOCK if needs_it else None
        if kinds == {ReplyKind.UNREACHABLE}:
            return _Silence.GONE
        return _Silence.STOPPED if len(last) > 1 else _Silence.UNCLEAR

    @property
    def has_no_process(self) -> bool:
        """Whether the kernel of its node says that it is gone."""
        reply = self.last.get(_PRESENCE)
        return reply is not None and reply.kind is ReplyKind.UNREACHABLE

    @property
    def is_dumb(self) -> bool:
        """Whether it answers nothing at all."""
        return self.silence not in (None, _Silence.HOLDS_THE_LOCK)

    @property
    def ever_answered(self) -> bool:
        """Whether it answered anything in any look."""
        return any(
            reply.kind is ReplyKind.ANSWERED
            for replies in self.replies.values()
            for _, reply, _ in replies
        )

    @property
    def times_silent(self) -> int:
        """How often it did not answer one and the same question, at most."""
        return max(
            sum(reply.kind in _NOT_ANSWERED for _, reply, _ in replies)
            for replies in self.replies.values()
        )

    def fell_silent_behind(self, others: Sequence["_Asked"]) -> bool:
        """Whether it answered a question once that another one did not answer at that time."""
        return any(
            reply.kind is ReplyKind.ANSWERED
            and any(
                at == order and theirs.kind in _NOT_ANSWERED
                for other in others
                if other is not self
                for at, theirs, _ in other.replies.get(handler, ())
            )
            for handler, replies in self.replies.items()
            if replies[-1][1].kind in _NOT_ANSWERED
            for order, reply, _ in replies[:-1]
        )


_NOT_ANSWERED: Final = frozenset({ReplyKind.SILENT, ReplyKind.UNREACHABLE})


class SilentProcess:
    """One finding for each process that does not answer while others do.

    Silent: where half of the processes do not answer, or none does.
    """

    name = _NAME

    def run(self, case: LiveCase) -> Iterator[Finding]:
        """The findings on ``case``."""
        asked = _list_asked(case)
        silent = [one for one in asked if one.silence is not None]
        answering = sum(one.ever_answered for one in asked)
        dumb = sum(one.is_dumb for one in silent)
        late = [one for one in silent if one.fell_silent_behind(silent)]
        if not silent or len(silent) > _MAX_NAMED:
            return
        if not late and (not answering or dumb > _MAX_SHARE * len(asked)):
            return
        for one in silent:
            yield _make_finding(one, case, answering, late=one in late)


def _list_asked(case: LiveCase) -> list[_Asked]:
    """Every process that was asked anything, by rank; launchers are not."""
    found: dict[tuple[object, ...], _Asked] = {}
    for order, look in enumerate(case.looks):
        # Whom RAS does not reach is a claim of its own.
        for reply in look.replies if look.tool is not Tool.RAS else ():
            rank = case.rank_of(reply.process, look)
            node = case.node_of(reply.process, look)
            key = (rank,) if rank is not None else (node, reply.process.pid, reply.process.host)
            one = found.setdefault(key, _Asked(reply.process, rank, node))
            one.replies[reply.handler].append((order, reply, look.artifact))
    for one in found.values():
        for replies in one.replies.values():
            replies.sort(key=lambda asked: _get_time_key(asked[0], case))
    ordered = sorted(found.items(), key=lambda item: [str(part).zfill(8) for part in item[0]])
    return [one for _, one in ordered]


def _get_time_key(order: int, case: LiveCase) -> tuple[object, ...]:
    look = case.looks[order]
    return (look.stamp.wall_ns or 0, make_natural_key(look.artifact))


# Not answered in a second look either.
_AGAIN: Final = 0.05
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
# It fell silent when the job hung already.
_LATE: Final = 0.45
_OF_TWO: Final = 0.7


def _make_finding(one: _Asked, case: LiveCase, answering: int, *, late: bool) -> Finding:
    """The claim on one process."""
    silence = one.silence or _Silence.UNCLEAR
    again = _AGAIN if one.times_silent > 1 else 0.0
    worth, words = _CLAIMS[silence]
    line = _find_line(one, case)
    summary = words.format(at=f" in {line}" if line is not None else "")
    strength = min(worth + again, 1.0 if answering > 1 or late else _OF_TWO)
    if late:
        strength = min(strength, _LATE)
    ranks = () if one.rank is None else (one.rank,)
    nodes = (one.node,) if one.node is not None and not ranks else ()
    gone = silence is _Silence.GONE
    return make_look_claim(
        detector=_NAME,
        kind=VerdictKind.CRASH if gone else VerdictKind.HANG,
        category=Category.NCCL_TIMEOUT if gone else Category.HOST_STALL,
        ranks=ranks,
        nodes=nodes,
        strength=strength,
        role=Role.POSSIBLE if late or not (ranks or nodes) else Role.CULPRIT,
        summary=_NO_PROCESS if one.has_no_process else summary,
        because=tuple(_list_reasons(one, silence, late=late)),
    )


def _find_line(one: _Asked, case: LiveCase) -> str | None:
    """The line at which py-spy shows a process that could not answer by itself."""
    for stack in case.picture.ranks:
        if stack.rank is not None and stack.rank == one.rank and stack.found.told_by is not None:
            return get_line(stack) or describe_frame(stack.found.told_by)
    return None


_ANSWERS: Final = {
    ReplyKind.ANSWERED: "answered",
    ReplyKind.SILENT: "did not answer in time (408)",
    ReplyKind.UNREACHABLE: "could not be reached (503)",
}


def _list_reasons(one: _Asked, silence: _Silence, *, late: bool) -> Iterator[Because]:
    """What it was asked, and what came back."""
    name = f"rank {one.rank}" if one.rank is not None else f"the process on {one.node}"
    for handler, replies in sorted(one.replies.items(), key=lambda item: _get_order_key(item[1])):
        _, reply, artifact = replies[-1]
        if reply.kind in _ANSWERS:
            text = f"{name} {_ANSWERS[reply.kind]} to {handler}"
            if handler == _PRESENCE and reply.kind is ReplyKind.UNREACHABLE:
                text = f"{name} has no process any more where its neighbours run"
            yield Because(_NAME, text, artifact, reply.line)
    if silence is _Silence.HOLDS_THE_LOCK:
        yield Because(_NAME, "a process that answers all but its own stack holds its lock (GIL)")
    if late:
        yield Because(_NAME, "it still answered when another rank did not any more")


def _get_order_key(replies: Sequence[tuple[int, Reply, str]]) -> tuple[bool, str]:
    return (replies[-1][1].kind is ReplyKind.ANSWERED, replies[-1][2])
