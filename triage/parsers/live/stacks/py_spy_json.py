"""The output of ``py-spy dump --json``: an array with one object a thread.

::

    [{"pid": 20639, "thread_id": 139741924293504, "thread_name": "MainThread",
      "os_thread_id": 20639, "active": false, "owns_gil": false,
      "frames": [{"name": "main", "filename": "/w/train.py", "short_filename": "train.py",
                  "module": null, "line": 37, ...}], "process_info": null}]
"""

import json
from typing import Any, Final

from triage.domain.live.process import Process
from triage.domain.live.stack import StackFrame, ThreadStack
from triage.domain.patterns import compile_re
from triage.parsers.live.stacks.lines import is_native_file, limit_frames, shorten_name
from triage.parsers.live.stacks.py_spy import MAX_THREADS

# An object with all its frames; a real one has some kilobytes.
_SEPARATOR: Final = compile_re(r"[\s,\[\]]*")
_MAX_NUMBER: Final = 1 << 62


def read_py_spy_json(text: str) -> tuple[list[ThreadStack], bool]:
    """The threads, and whether the text is whole; of arrays behind one another all threads."""
    decoder = json.JSONDecoder()
    stacks: list[ThreadStack] = []
    line, place = 1, 0
    while len(stacks) < MAX_THREADS:
        separator = _SEPARATOR.match(text, place)
        begin = separator.end() if separator is not None else place
        line += text.count("\n", place, begin)
        if begin >= len(text):
            return stacks, True
        try:
            value, end = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            return stacks, False
        if isinstance(value, dict) and isinstance(value.get("frames"), list):
            stacks.append(_read_stack(value, line))
        line += text.count("\n", begin, end)
        place = end
    return stacks, True


def _read_stack(value: dict[str, Any], line: int) -> ThreadStack:
    process = _read_process(value)
    own = _number(value.get("os_thread_id"))
    name = value.get("thread_name")
    main = None if own is None else own == process.pid
    if isinstance(name, str):
        main = name == "MainThread"
    return ThreadStack(
        process,
        limit_frames([_parse_frame(one) for one in value["frames"] if isinstance(one, dict)]),
        shorten_name(name) if isinstance(name, str) else None,
        own if own is not None else _number(value.get("thread_id")),
        main,
        _get_boolean(value.get("active")),
        _get_boolean(value.get("owns_gil")),
        line=line,
    )


def _read_process(value: dict[str, Any]) -> Process:
    """The process, with its command and its parent where ``--subprocesses`` tells them."""
    info = value.get("process_info")
    info = info if isinstance(info, dict) else {}
    command = info.get("command_line")
    above = info.get("parent")
    parent = above.get("pid") if isinstance(above, dict) else info.get("ppid")
    return Process(
        pid=_number(value.get("pid")),
        parent_pid=_number(parent),
        command=shorten_name(command) if isinstance(command, str) and command else None,
    )


def _parse_frame(value: dict[str, Any]) -> StackFrame:
    """A frame under the short name of its file, which is what the text of py-spy prints."""
    texts = [value.get(key) for key in ("name", "short_filename", "filename", "module")]
    name, *files = [one if isinstance(one, str) else "" for one in texts]
    filename = next((one for one in files if one), "")
    line = _number(value.get("line")) or None
    python = filename.endswith((".py", ">")) or line is not None
    native = name.startswith("0x") or is_native_file(filename) or not python
    return StackFrame(shorten_name(name), shorten_name(filename), line, native)


def _number(value: Any) -> int | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value < _MAX_NUMBER else None


def _get_boolean(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None
