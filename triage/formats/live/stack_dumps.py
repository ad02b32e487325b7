"""Stacks as Python's own tools print them, by themselves in a file.

Dumps also stand in the middle of job logs; such a file stays a log. What is claimed here begins
with a dump, but for some lines of a script above it, and holds hardly anything else.
"""

import re
from collections.abc import Sequence
from typing import Final

from triage.domain.patterns import compile_re
from triage.formats.format import Head
from triage.formats.live.live_format import LiveFormat
from triage.parsers.live.stacks import python_traceback
from triage.parsers.live.stacks.faulthandler import MARK, THREAD
from triage.parsers.live.stacks.lines import split_clean_lines
from triage.parsers.live.stacks.py_spy import HEADER, VERSION
from triage.parsers.live.stacks.stack_looks import (
    read_faulthandler_looks,
    read_py_spy_json_looks,
    read_py_spy_looks,
    read_python_traceback_looks,
)

_DUMP_LINE: Final = compile_re(r"    |Thread [\dx]|Process \d|Parent Process \d|Python v\d")
_FAULT_LINE: Final = compile_re(
    r"  |Thread 0x|Current thread |Stack \(|\.\.\.$|Timeout \(|Extension modules: "
)
# '[{"pid": 20639, "thread_id": 139741064300224, ...'
_JSON_START: Final = compile_re(
    rb'\s{0,64}\[\s{0,64}\{\s{0,64}"pid"\s{0,8}:\s{0,8}\d{1,10}\s{0,8},\s{0,64}"thread_id"\s{0,8}:'
)
_TRACEBACK_LINE: Final = compile_re(r" |File:? ")


def _is_py_spy_dump(head: Head) -> bool:
    """``Process 20640: python train.py``, and in the next line ``Python v3.11.7 (...)``."""
    start = head.data[:LOOKED_AT]
    if b"Process " not in start or b"Python v" not in start:
        return False
    lines = split_clean_lines(head.text)
    for place, line in enumerate(lines[:-1]):
        if HEADER.match(line) and lines[place + 1].startswith(VERSION):
            return is_mostly_tool_output(lines, place, _DUMP_LINE)
    return False


def _is_faulthandler_dump(head: Head) -> bool:
    """``Thread 0x00007f5ee27fc6c0 (most recent call first):``.

    A crash (``Fatal Python error: ...``) is an event, and stays a line of a log.
    """
    start = head.data[:LOOKED_AT]
    if MARK.encode() not in start or b"Fatal Python error: " in start:
        return False
    lines = split_clean_lines(head.text)
    for place, line in enumerate(lines):
        if THREAD.match(line):
            return is_mostly_tool_output(lines, place, _FAULT_LINE)
    return False


def _is_py_spy_json(head: Head) -> bool:
    """An array of objects, each with a pid, a thread and its frames."""
    return _JSON_START.match(head.data[:1024]) is not None


def _is_traceback_dump(head: Head) -> bool:
    """``# Thread 139741924293504 (MainThread)``, and frames of tracebacks below."""
    start = head.data[:LOOKED_AT]
    if b"# Thread" not in start or b"File" not in start:
        return False
    lines = split_clean_lines(head.text)
    for place, line in enumerate(lines[:-1]):
        if python_traceback.HEADER.match(line) and python_traceback.FRAME.match(lines[place + 1]):
            return is_mostly_tool_output(lines, place, _TRACEBACK_LINE)
    return False


PY_SPY: Final = LiveFormat("py_spy", _is_py_spy_dump, read_py_spy_looks, words=("Python v",))
PY_SPY_JSON: Final = LiveFormat(
    "py_spy_json", _is_py_spy_json, read_py_spy_json_looks, words=('"thread_id"',)
)
FAULTHANDLER: Final = LiveFormat(
    "faulthandler", _is_faulthandler_dump, read_faulthandler_looks, words=(MARK,)
)
PYTHON_TRACEBACK: Final = LiveFormat(
    "python_traceback", _is_traceback_dump, read_python_traceback_looks, words=("# Thread",)
)


# Characters of a file that are looked at for the mark of a tool.
LOOKED_AT: Final = 8 << 10
# Lines of a script above the first dump: its date, the rank, the command.
_MOST_ABOVE: Final = 12
# Of 100 lines that begin a file, as many may be of something else.
_MOST_FOREIGN_PERCENT: Final = 15
# "=== rank 3 ===", "rank 3 pid 4100", "Sat Nov 22 08:38:45 UTC 2026", "2026-11-22 08:38:45"
_HEADING: Final = compile_re(
    r"$|[=#*+>-]|(?:(?:global[_ ])?rank|pid|host|node|stacks?|dump|date|time|py-?spy)\b.{0,100}$"
    r"|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8}.{0,16}$|\d{4}-\d\d-\d\d[T ][\d:.,+Z-]{5,24}$",
    re.I,
)


def is_mostly_tool_output(lines: Sequence[str], first: int, known: re.Pattern[str]) -> bool:
    """Whether lines are those of a tool, whose first dump begins at ``first``: few headings above
    it, and hardly a foreign line anywhere. A job log with a dump at its end is a log.
    """
    if first > _MOST_ABOVE:
        return False
    # The last line that is looked at may be cut.
    whole = lines[:-1] if len(lines) > first + 1 else lines
    foreign = sum(known.match(line) is None and _HEADING.match(line) is None for line in whole)
    return foreign * 100 <= _MOST_FOREIGN_PERCENT * len(whole)
