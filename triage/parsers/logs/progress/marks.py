"""What a job says of itself besides its steps: that it begins, evaluates, saves, beats, ends.

The patterns are data: ``marks.toml``. A mark is no evidence against anybody: it says what a
job was at when its steps ended, and whether that end was in order.
"""

import re
from typing import Final

from triage.domain.patterns import compile_re
from triage.domain.toml_tables import read_toml
from triage.parsers.logs.progress.series import MarkKind

_EVALUATES: Final = compile_re(
    r"^\W{0,4}(?:valid|eval|test)|\bvalid(?:ation)? (?:loss|ppl)\b|\| valid\b|\bevaluat",
    re.IGNORECASE,
)
_RAW: Final = read_toml("triage.parsers.logs.progress", "marks")
# Kind, pattern, and what in the line makes it none.
_MARKS: Final = tuple(
    (
        MarkKind(row["kind"]),
        compile_re("".join(row["pattern"]), re.IGNORECASE),
        compile_re("".join(row.get("unless", _RAW["failed"])), re.IGNORECASE),
    )
    for row in _RAW["mark"]
)
_MAX_CHARACTERS: Final = 400


def find_mark(text: str) -> MarkKind | None:
    """What a line says besides a step; None for a line that says nothing of the kind.

    >>> find_mark("saving checkpoint at iteration     500 to /ckpt in torch_dist format")
    <MarkKind.CHECKPOINT: 'checkpoint'>
    """
    text = text[:_MAX_CHARACTERS]
    for kind, pattern, unless in _MARKS:
        if pattern.search(text) is not None:
            return kind if unless.search(text) is None else None
    return None


def is_evaluation(text: str) -> bool:
    """Whether a line with numbers is of an evaluation, and of no step."""
    return _EVALUATES.search(text[:_MAX_CHARACTERS]) is not None
