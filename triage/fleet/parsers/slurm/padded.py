"""A table of Slurm that is padded with blanks, as ``sacctmgr show event`` prints it of its own
accord: names, a line of dashes that says how wide each column is, rows cut to it.

::

       Cluster        NodeName           TimeStart             TimeEnd  State         Reason   User
    ---------- --------------- ------------------- ------------------- ------ -------------- ------
             a          gpu003 2026-11-20T22:00:00 2026-11-21T06:00:00  DRAIN            HBM   root
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from triage.fleet.parsers.lines import Line

_MOST_CHARS: Final = 2000
_HEADER: Final = re.compile(r"(?=.*\bNode ?Name\b)(?=.*\b(?:Time)?Start\b)[A-Za-z ]+")
_RULE: Final = re.compile(r"\s*-+(?: +-+)+\s*")


def is_padded_header(line: str) -> bool:
    """Whether a first line names the columns of events."""
    return len(line) <= _MOST_CHARS and _HEADER.fullmatch(line.strip()) is not None


class PaddedTable:
    """The columns of a padded table by place; ``names`` is empty where its rule is missing."""

    def __init__(self, header: str, rule: str) -> None:
        self.spans = (
            [slice(*match.span()) for match in re.finditer("-+", rule)]
            if len(rule) <= _MOST_CHARS and _RULE.fullmatch(rule)
            else []
        )
        self.names = self.fields(header)

    def fields(self, text: str) -> list[str]:
        """The fields of a row; the last one may be wider than its column."""
        fields = [text[span].strip() for span in self.spans]
        if fields:
            fields[-1] = text[self.spans[-1].start :].strip()
        return fields

    def rows(self, lines: Iterable[Line]) -> Iterator[tuple[int, list[str] | None]]:
        """Rows with their lines; None for a line that is too long."""
        for number, text in lines:
            if text is None or text.strip():
                yield number, None if text is None else self.fields(text)
