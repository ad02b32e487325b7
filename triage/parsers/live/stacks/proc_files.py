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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from triage.domain.live.process import Process
from triage.domain.live.stack import StackFrame, ThreadStack
from triage.domain.patterns import compile_re
from triage.parsers.live.foreign_values import parse_whole_number
from triage.parsers.live.stacks.lines import MAX_THREADS, clip_line, limit_frames, shorten_name

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
_KERNEL_NAME: Final = compile_re(r"\w[\w.]{1,100}")
_FOLDER: Final = compile_re(r"(?:^|/)(\d{1,10})/(?:task/(\d{1,10})/)?[^/]*$")


@dataclass(slots=True)
class _Parts:
    """What the files of one thread say: rows of ``status``, the first line of each other file."""

    line: int
    pid: int | None = None
    tid: int | None = None
    status: dict[str, str] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    frames: list[StackFrame] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)


def read_proc_stacks(
    lines: Sequence[str], process: Process, artifact: str = "", first: int = 1
) -> list[ThreadStack]:
    """A stack for each thread that is told of. The pid may stand in the path of ``artifact``."""
    # "proc/51304/task/51310/stack"
    pid = tid = None
    folder = _FOLDER.search(artifact)
    if folder is not None and ("/proc/" in f"/{artifact}" or folder[2]):
        pid, tid = int(folder[1]), parse_whole_number(folder[2])
    base = artifact.rpartition("/")[2]
    every = _iterate_thread_parts(lines, first, base)
    told = islice((parts for parts in every if parts.seen), MAX_THREADS)
    return [_make_stack(parts, process, pid, tid) for parts in told]


def _iterate_thread_parts(lines: Sequence[str], first: int, base: str) -> Iterator[_Parts]:
    """What each thread's files say: a file that comes again begins another thread."""
    parts = _Parts(first)
    what = base if base in ("wchan", "syscall", "cmdline", "comm") else ""
    for number, whole in enumerate(lines, first):
        line = clip_line(whole)
        heading = HEADING.match(line)
        if heading is not None and (heading["mark"] or heading["path"] or heading["colon"]):
            what = heading["what"]
            pid, tid = parse_whole_number(heading["pid"]), parse_whole_number(heading["tid"])
            if what in parts.seen or _differ(pid, parts.pid) or _differ(tid, parts.tid):
                yield parts
                parts = _Parts(number)
            parts.pid, parts.tid = pid or parts.pid, tid or parts.tid
            parts.seen.add(what)
        elif (status := STATUS.match(line)) is not None:
            if status[1] == "Name" and "Name" in parts.status:
                yield parts
                parts = _Parts(number)
            parts.seen.add("status")
            parts.status[status[1]] = status[2].strip()
            if status[1] == "Pid":
                parts.tid = parse_whole_number(status[2])
        elif (frame := FRAME.match(line)) is not None:
            parts.seen.add("stack")
            parts.frames.append(StackFrame(frame["name"], frame["module"] or "", native=True))
        elif what and line.strip():
            parts.words.setdefault(what, line.strip())
            parts.seen.add(what)
    yield parts


def _differ(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one != other


def _make_stack(parts: _Parts, asked: Process, pid: int | None, tid: int | None) -> ThreadStack:
    """The thread; a file that names no thread of a process is of its main one."""
    status, words = parts.status, parts.words
    thread = parts.tid or tid
    owner = parse_whole_number(status.get("Tgid")) or parts.pid or pid or thread or asked.pid
    command = " ".join(words.get("cmdline", "").split("\x00")).strip()
    waits_in = _KERNEL_NAME.fullmatch(words.get("wchan", ""))
    state = status.get("State", "")[:1] or None
    return ThreadStack(
        Process(
            rank=asked.rank,
            host=asked.host,
            pid=owner,
            parent_pid=parse_whole_number(status.get("PPid")),
            command=shorten_name(command) if "cmdline" in words else None,
        ),
        limit_frames(parts.frames),
        shorten_name(status["Name"]) if "Name" in status else None,
        thread or owner,
        thread is None or thread == owner,
        True if words.get("syscall") == "running" or state == "R" else None,
        state=state,
        waits_in=waits_in[0] if waits_in else None,
        line=parts.line,
    )
