"""What the kernel says of a process: ``/proc/PID/status``, ``wchan``, ``stack``, ``syscall``.

::

    == status
    Name:	python
    State:	D (disk sleep)
    Pid:	51304
    == wchan
    rpc_wait_bit_killable
    == stack
    [<0>] rpc_wait_bit_killable+0x11/0x70 [sunrpc]
    == syscall
    74 0x5c 0x0 ...

Several of these files stand in one below headings, or each in a file of its own.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from triage.domain.live.process import Process
from triage.domain.live.stack import StackFrame, ThreadStack
from triage.domain.patterns import compile_re
from triage.parsers.live.stacks.lines import clip_line, limit_frames, shorten_name
from triage.parsers.live.stacks.py_spy import MAX_THREADS

# "== status", "==> /proc/51304/task/51310/stack <==", "/proc/51304/wchan:", "--- stack ---"
HEADING: Final = compile_re(
    r"(?P<mark>[=#*-]{0,8}>?) ?(?P<path>/proc/(?P<pid>\d{1,10})/(?:task/(?P<tid>\d{1,10})/)?)?"
    r"(?P<what>status|wchan|stack|syscall|cmdline|comm|stat)(?P<colon>:?) ?[=#*<-]{0,8}$"
)
# "[<0>] rpc_wait_bit_killable+0x11/0x70 [sunrpc]", "[<ffffffff810e3b1a>] futex_wait+0x1a/0x20"
FRAME: Final = compile_re(
    r"\[<[0-9a-f]{1,16}>\] (?P<name>[^\s+]{1,200})(?:\+0x[0-9a-f]+/0x[0-9a-f]+)?"
    r"(?: \[(?P<module>\w+)\])?"
)
# "State:	D (disk sleep)"
STATUS: Final = compile_re(r"(Name|State|Tgid|Pid|PPid):\s+(.{0,200})")
_FOLDER: Final = compile_re(r"(?:^|/)(\d{1,10})/(?:task/(\d{1,10})/)?[^/]*$")


@dataclass(slots=True)
class _Parts:
    """What the files of one thread say."""

    line: int
    pid: int | None = None
    tid: int | None = None
    parent: int | None = None
    group: int | None = None
    name: str | None = None
    state: str | None = None
    waits_in: str | None = None
    running: bool = False
    command: str | None = None
    frames: list[StackFrame] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)


def read_proc_stacks(
    lines: Sequence[str], process: Process, artifact: str = "", first: int = 1
) -> list[ThreadStack]:
    """A stack for each thread that is told of. The pid may stand in the path of ``artifact``."""
    pid, tid = _parse_path_ids(artifact)
    base = artifact.rpartition("/")[2]
    found = [
        _make_stack(parts, process, pid, tid)
        for parts in _iterate_thread_parts(lines, first, base)
        if parts.seen
    ]
    return found[:MAX_THREADS]


def _parse_path_ids(artifact: str) -> tuple[int | None, int | None]:
    """Pid and thread of ``proc/51304/task/51310/stack``."""
    match = _FOLDER.search(artifact)
    if match is None or not ("/proc/" in f"/{artifact}" or match[2]):
        return None, None
    return int(match[1]), int(match[2]) if match[2] else None


def _iterate_thread_parts(lines: Sequence[str], first: int, base: str) -> Iterator[_Parts]:
    """What each thread's files say: a file that comes again begins another thread."""
    parts = _Parts(first)
    what = base if base in ("wchan", "syscall", "cmdline", "comm") else ""
    for number, whole in enumerate(lines, first):
        line = clip_line(whole)
        heading = HEADING.match(line)
        if heading is not None and (heading["mark"] or heading["path"] or heading["colon"]):
            what = heading["what"]
            pid, tid = _parse_number(heading["pid"]), _parse_number(heading["tid"])
            if what in parts.seen or _differ(pid, parts.pid) or _differ(tid, parts.tid):
                yield parts
                parts = _Parts(number)
            parts.pid, parts.tid = pid or parts.pid, tid or parts.tid
            parts.seen.add(what)
        elif (status := STATUS.match(line)) is not None:
            if status[1] == "Name" and "Name" in parts.seen:
                yield parts
                parts = _Parts(number)
            parts.seen |= {"status", status[1]} if status[1] == "Name" else {"status"}
            _take_status(parts, status[1], status[2].strip())
        elif (frame := FRAME.match(line)) is not None:
            parts.seen.add("stack")
            parts.frames.append(StackFrame(frame["name"], frame["module"] or "", native=True))
        elif what and line.strip():
            _take_word(parts, what, line.strip())
            parts.seen.add(what)
    yield parts


def _differ(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one != other


def _take_status(parts: _Parts, name: str, value: str) -> None:
    if name == "Name":
        parts.name = shorten_name(value)
    elif name == "State":
        parts.state = value[:1] or None
    elif name == "Tgid":
        parts.group = _parse_number(value)
    elif name == "Pid":
        parts.tid = _parse_number(value)
    else:
        parts.parent = _parse_number(value)


def _take_word(parts: _Parts, what: str, word: str) -> None:
    if what == "wchan" and re.fullmatch(r"\w[\w.]{1,100}", word):
        parts.waits_in = word
    elif what == "syscall" and word == "running":
        parts.running = True
    elif what == "cmdline":
        parts.command = shorten_name(" ".join(word.split("\x00")).strip())


def _parse_number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 11 else None


def _make_stack(parts: _Parts, asked: Process, pid: int | None, tid: int | None) -> ThreadStack:
    """The thread; a file that names no thread of a process is of its main one."""
    thread = parts.tid or tid
    owner = parts.group or parts.pid or pid or thread or asked.pid
    return ThreadStack(
        Process(
            rank=asked.rank,
            host=asked.host,
            pid=owner,
            parent_pid=parts.parent,
            command=parts.command,
        ),
        limit_frames(parts.frames),
        parts.name,
        thread or owner,
        thread is None or thread == owner,
        True if parts.running or parts.state == "R" else None,
        state=parts.state,
        waits_in=parts.waits_in,
        line=parts.line,
    )
