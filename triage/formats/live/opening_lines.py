"""How the first lines of a file that holds one tool's output differ from those of a job log."""

import re
from collections.abc import Sequence
from typing import Final

__all__ = ["LOOKED_AT", "mostly"]

# Characters of a file that are looked at for the mark of a tool.
LOOKED_AT: Final = 8 << 10
# Lines of a script above the first dump: its date, the rank, the command.
MOST_ABOVE: Final = 12
# Of 100 lines that begin a file, as many may be of something else.
MOST_FOREIGN_PERCENT: Final = 15


def mostly(lines: Sequence[str], first: int, known: re.Pattern[str]) -> bool:
    """Whether lines are those of a tool: few above the first dump, hardly a foreign one below."""
    if first > MOST_ABOVE:
        return False
    # The last line that is looked at may be cut.
    below = lines[first:-1] if len(lines) > first + 1 else lines[first:]
    foreign = sum(known.match(line) is None for line in below)
    return foreign * 100 <= MOST_FOREIGN_PERCENT * len(below)
