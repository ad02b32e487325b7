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
# "=== rank 3 ===", "rank 3 pid 4100", "Sat Nov 22 08:38:45 UTC 2026", "2026-11-22 08:38:45"
HEADING: Final = re.compile(
    r"$|[=#*+>-]|(?:(?:global[_ ])?rank|pid|host|node|stacks?|dump|date|time|py-?spy)\b.{0,100}$"
    r"|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8}.{0,16}$|\d{4}-\d\d-\d\d[T ][\d:.,+Z-]{5,24}$",
    re.I,
)


def mostly(lines: Sequence[str], first: int, known: re.Pattern[str]) -> bool:
    """Whether lines are those of a tool, whose first dump begins at ``first``: few headings above
    it, and hardly a foreign line anywhere. A job log with a dump at its end is a log.
    """
    if first > MOST_ABOVE:
        return False
    # The last line that is looked at may be cut.
    whole = lines[:-1] if len(lines) > first + 1 else lines
    foreign = sum(known.match(line) is None and HEADING.match(line) is None for line in whole)
    return foreign * 100 <= MOST_FOREIGN_PERCENT * len(whole)
