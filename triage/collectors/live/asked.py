"""What became of each question: answered, silent, nobody there, or the tool itself failed.

Absence is evidence only of who was asked: the four are kept apart, and what was not asked
stands among the notes.
"""

from __future__ import annotations

from typing import NamedTuple

ANSWERED = "answered"
SILENT = "silent"
UNREACHABLE = "unreachable"
TOOL_FAILED = "tool_failed"


class Question(NamedTuple):
    """One question to one process. ``why`` is a clause, empty where it was answered.

    ``rank`` is None for a process or a node that has none. ``seconds`` is how long it took.
    """

    tool: str
    rank: int | None
    pid: int | None
    reply: str
    why: str = ""
    seconds: float = 0.0
