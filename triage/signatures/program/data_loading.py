"""Input that keeps one rank busy while the others wait in a collective.

A progress bar of a tokenizer is harmless by itself: noise with a category, which
counts only beside a barrier of one element that timed out. A traceback that runs
through ``main_process_first`` waited for exactly that.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.signatures.load import load
from triage.signatures.signature import Reading

# A batch that takes longer holds up a step of any size.
_SLOW_S = 30.0


def slow(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """None for a wait that is no stall."""
    return Reading() if float(match["waited_s"]) >= _SLOW_S else None


SIGNATURES = load(
    __name__,
    loader_stuck=lambda match, _after: (
        None
        if "detect" in match.string
        else Reading(category=Category.STORAGE, also=(Category.HOST_STALL,))
        if re.search(r"(?<!\w)/(?!tmp/|dev/)\w[\w.-]*/|\b(?:s3|gs|az|hdfs)://", match.string)
        else Reading()
    ),
    main_process_first=lambda _match, _after: Reading(peer="rank 0"),
)
