"""The text of ``py-spy dump``.

::

    Process 20640: /opt/venv/bin/python train.py
    Python v3.11.7 (/usr/local/bin/python3.11)

    Thread 20640 (idle): "MainThread"
        wait (multiprocessing/connection.py:947)
        main (train.py:37)
        <module> (train.py:43)
    Thread 25035 (active)

Frames are innermost first. ``--native`` adds ``symbol (lib.so)``, ``--subprocesses`` more
processes, each below a line of dashes, ``--locals`` deeper lines, which are left out. A thread may
have no name, no colon and no frames: PyTorch's debug server's own have none.
"""

import re
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from triage.domain.live.process import Process
from triage.domain.live.stack import StackFrame, ThreadStack
from triage.domain.patterns import compile_re
from triage.parsers.live.foreign_values import get_count, get_json_object, iterate_decoded
from triage.parsers.live.stacks.lines import (
    MAX_THREADS,
    ThreadReader,
    clip_line,
    is_native_file,
    limit_frames,
    shorten_name,
)

# "Process 20640: /opt/venv/bin/python train.py"
HEADER: Final = compile_re(r"Process (\d{1,10}): ?(.*)")
VERSION: Final = "Python v"
# "Parent Process 20640: /opt/venv/bin/python train.py"
_PARENT: Final = compile_re(r"Parent Process (\d{1,10})(?::|$)")
# 'Thread 20640 (active+gil): "MainThread"', "Thread 0x7F0A1B (idle)", "Thread 25035 (active)"
_THREAD: Final = compile_re(
    r"Thread (?P<id>0x[0-9A-Fa-f]{1,16}|\d{1,20}) \((?P<state>[a-z+, ]{4,24})\)"
    r'(?:: "(?P<name>.*)")?$'
)


class _PySpyReader(ThreadReader):
    """``process`` is the one that is read: its rank and host are those of whoever was asked."""

    def take(self, number: int, line: str) -> None:
        if line.startswith("    "):
            if self.header is not None and line[4:5] != " " and line.endswith(")"):
                self.frames.append(_parse_frame(line))
            return
        if line.startswith("Thread "):
            match = _THREAD.match(clip_line(line))
            if match is not None:
                self.begin_thread(match, number)
        elif line.startswith("Process "):
            match = HEADER.match(clip_line(line))
            if match is not None:
                self.end_thread()
                command = shorten_name(match[2]) or None
                self.process = replace(
                    self.process, pid=int(match[1]), command=command, parent_pid=None
                )
        elif line.startswith("Parent Process "):
            match = _PARENT.match(clip_line(line))
            if match is not None:
                self.process = replace(self.process, parent_pid=int(match[1]))

    def make_stack(self, header: re.Match[str]) -> ThreadStack:
        state, name, own = header["state"], header["name"], header["id"]
        number = int(own, 0 if own.startswith("0x") else 10)
        # Python's number of a thread is not the kernel's.
        main = None if own.startswith("0x") else number == self.process.pid
        if name is not None:
            main = name == "MainThread"
        active = state.startswith("active")
        return ThreadStack(
            self.process,
            limit_frames(self.frames),
            None if name is None else shorten_name(name),
            number,
            main,
            active,
            # "idle" is printed of a thread that holds the GIL in C and sleeps there, too.
            True if "gil" in state else (False if active else None),
            line=self.line,
        )


read_py_spy: Final = _PySpyReader.read


@lru_cache(maxsize=8192)
def _parse_frame(line: str) -> StackFrame:
    """``    wait (multiprocessing/connection.py:947)``: thousands of ranks print the same."""
    name, _, where = line[4:-1].rpartition(" (")
    filename, _, digits = where.rpartition(":")
    if not (filename and digits.isascii() and digits.isdecimal() and len(digits) < 10):
        filename, digits = where, ""
    native = name.startswith("0x") or is_native_file(filename)
    if not digits and not filename.endswith((".py", ">")):
        native = True
    return StackFrame(
        shorten_name(name), shorten_name(filename), int(digits) if digits else None, native
    )


# The output of ``py-spy dump --json``: an array with one object a thread.
#
# ::
#
#     [{"pid": 20639, "thread_id": 139741924293504, "thread_name": "MainThread",
#       "os_thread_id": 20639, "active": false, "owns_gil": false,
#       "frames": [{"name": "main", "filename": "/w/train.py", "short_filename": "train.py",
#                   "module": null, "line": 37, ...}], "process_info": null}]

# An object with all its frames; a real one has some kilobytes.
_SEPARATOR: Final = compile_re(r"[\s,\[\]]*")


def read_py_spy_json(text: str) -> tuple[list[ThreadStack], bool]:
    """The threads, and whether the text is whole; of arrays behind one another all threads."""
    stacks: list[ThreadStack] = []
    line, place = 1, 0
    for value, begin, end in iterate_decoded(text, _SEPARATOR):
        if isinstance(value, dict) and isinstance(value.get("frames"), list):
            stacks.append(_read_json_stack(value, line + text.count("\n", place, begin)))
        line += text.count("\n", place, end)
        place = end
        if len(stacks) >= MAX_THREADS:
            return stacks, True
    return stacks, _SEPARATOR.fullmatch(text, place) is not None


def _read_json_stack(value: dict[str, Any], line: int) -> ThreadStack:
    process = _read_process(value)
    own = get_count(value.get("os_thread_id"))
    name = value.get("thread_name")
    main = None if own is None else own == process.pid
    if isinstance(name, str):
        main = name == "MainThread"
    return ThreadStack(
        process,
        limit_frames([_parse_json_frame(one) for one in value["frames"] if isinstance(one, dict)]),
        shorten_name(name) if isinstance(name, str) else None,
        own if own is not None else get_count(value.get("thread_id")),
        main,
        _get_boolean(value.get("active")),
        _get_boolean(value.get("owns_gil")),
        line=line,
    )


def _read_process(value: dict[str, Any]) -> Process:
    """The process, with its command and its parent where ``--subprocesses`` tells them."""
    info = get_json_object(value.get("process_info"))
    command = info.get("command_line")
    above = info.get("parent")
    parent = above.get("pid") if isinstance(above, dict) else info.get("ppid")
    return Process(
        pid=get_count(value.get("pid")),
        parent_pid=get_count(parent),
        command=shorten_name(command) if isinstance(command, str) and command else None,
    )


def _parse_json_frame(value: dict[str, Any]) -> StackFrame:
    """A frame under the short name of its file, which is what the text of py-spy prints."""
    texts = [value.get(key) for key in ("name", "short_filename", "filename", "module")]
    name, *files = [one if isinstance(one, str) else "" for one in texts]
    filename = next((one for one in files if one), "")
    line = get_count(value.get("line")) or None
    python = filename.endswith((".py", ">")) or line is not None
    native = name.startswith("0x") or is_native_file(filename) or not python
    return StackFrame(shorten_name(name), shorten_name(filename), line, native)


def _get_boolean(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None
