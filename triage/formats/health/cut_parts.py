"""Whether the last part of a report breaks off, told from the parts before it.

Tools without an end mark print the same lines for each GPU, port or memory module: the values
differ, the names do not. A last part whose names are the beginning of another one's is cut.
"""

import re
from typing import Final

from triage.formats.health.reading import lines_of

__all__ = ["cut_part"]

# What a line is about, and whether a value stands there: "Processes : None" has no lines below.
NAME: Final = re.compile(r"\s*([^\d\s:=][^:=]{0,80}?)\s*(?:[:=.]|(?=\d)|$)(.?)")
MAX_PARTS: Final = 100_000


def cut_part(text: str, begins: re.Pattern[str]) -> int | None:
    """The line, from 1, at which the last part begins, where that breaks off; None where not.

    ``begins`` matches the first line of each part.
    """
    parts: list[tuple[int, list[str]]] = []
    for index, line in lines_of(text):
        if begins.match(line) is not None and len(parts) < MAX_PARTS:
            parts.append((index, []))
        elif parts and line.strip():
            name = NAME.match(line)
            parts[-1][1].append(line.strip() if name is None else f"{name[1]}:{bool(name[2])}")
    if len(parts) < 2:
        return None
    first, last = parts[-1]
    size = len(last)
    if any(len(names) <= size and names == last[: len(names)] for _, names in parts[:-1]):
        return None  # one like it ended there or before
    if any(len(names) > size and names[:size] == last for _, names in parts[:-1]):
        return first
    return None
