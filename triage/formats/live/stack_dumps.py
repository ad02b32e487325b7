"""Stacks of processes, by themselves in a file.

Dumps also stand in the middle of job logs; such a file stays a log. What is claimed here begins
with a dump, but for some lines of a script above it, and holds hardly anything else.
"""

import re
from typing import Final

from triage.formats.format import Head
from triage.formats.live.live_format import LiveFormat
from triage.parsers.live.stacks.faulthandler import MARK, THREAD
from triage.parsers.live.stacks.lines import lines_of
from triage.parsers.live.stacks.py_spy import HEADER, VERSION
from triage.parsers.live.stacks.stack_looks import faulthandler_looks, py_spy_looks

__all__ = ["FAULTHANDLER", "PY_SPY"]

# Lines of a script above the first dump: its date, the rank, the command.
MOST_ABOVE: Final = 12
# Of 100 lines that begin a file, as many may be of something else.
MOST_FOREIGN_PERCENT: Final = 15
LOOKED_AT: Final = 8 << 10
DUMP_LINE: Final = re.compile(
    r"$|    |Thread |Process \d|Parent Process \d|Python v\d|-{20,}$|[=#*-]"
)
FAULT_LINE: Final = re.compile(
    r"$|  |Thread 0x|Current thread |Stack \(|\.\.\.$|Fatal Python |Timeout \(|[=#*-]"
    r"|Python runtime state:|Extension modules: "
)


def begins_py_spy(head: Head) -> bool:
    """``Process 20640: python train.py``, and in the next line ``Python v3.11.7 (...)``."""
    start = head.data[:LOOKED_AT]
    if b"Process " not in start or b"\nPython v" not in start:
        return False
    lines = lines_of(head.text)
    for place, line in enumerate(lines[:-1]):
        if HEADER.match(line) and lines[place + 1].startswith(VERSION):
            return mostly(lines, place, DUMP_LINE)
    return False


def begins_faulthandler(head: Head) -> bool:
    """``Thread 0x00007f5ee27fc6c0 (most recent call first):``."""
    if MARK.encode() not in head.data[:LOOKED_AT]:
        return False
    lines = lines_of(head.text)
    for place, line in enumerate(lines):
        if THREAD.match(line):
            return mostly(lines, place, FAULT_LINE)
    return False


def mostly(lines: list[str], first: int, known: re.Pattern[str]) -> bool:
    """Whether lines are those of a tool: few above the first dump, hardly a foreign one below."""
    if first > MOST_ABOVE:
        return False
    # The last line that is looked at may be cut.
    below = lines[first:-1] if len(lines) > first + 1 else lines[first:]
    foreign = sum(known.match(line) is None for line in below)
    return foreign * 100 <= MOST_FOREIGN_PERCENT * len(below)


PY_SPY: Final = LiveFormat("py_spy", begins_py_spy, py_spy_looks)
FAULTHANDLER: Final = LiveFormat("faulthandler", begins_faulthandler, faulthandler_looks)
