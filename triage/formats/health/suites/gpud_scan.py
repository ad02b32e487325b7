"""``gpud scan``: a mark and a sentence for each component, tables below it.

::

    ⌛ scanning the host (GOOS linux)
    ✔ all 8 GPU(s) were checked, no ECC issue found
    ✘ GPU lost
    ✔ scan complete

The component is not named: the words say what was looked at. A scan that does not complete says
nothing of what it did not reach.
"""

import re
from typing import Final

from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.cluster.agent_report import complaint_of
from triage.formats.health.reading import Reading, check_name, lines_of

__all__ = ["GPUD_SCAN"]

BEGIN: Final = re.compile(r"scanning the host \(GOOS \w{2,20}\)")
MARKED: Final = re.compile(r"\s{0,4}([✔✘])\s{1,4}(\S.{0,400})")
END: Final = "scan complete"
# What was looked up of the machine, before anything is checked.
FACTS: Final = frozenset({"machine info", "provider info"})
NAME_WORDS: Final = 5
DIGITS: Final = re.compile(r"\d+")


def claimed(head: str) -> bool:
    return BEGIN.search(head) is not None


def read(text: str, reading: Reading) -> None:
    ended = False
    for index, line in lines_of(text):
        if BEGIN.search(line):
            reading.saw(index)
            ended = False
        found = MARKED.match(line)
        if found is None or found[2].strip() in FACTS:
            continue
        reading.saw(index)
        said = found[2].strip()
        if said == END:
            ended = True
            continue
        failed = found[1] == "✘"
        complaint = complaint_of(said)
        words = DIGITS.sub("", said).split()[:NAME_WORDS]
        reading.add(
            check_name("gpud", f"scan {' '.join(words)}"),
            Outcome.FAIL if failed else Outcome.PASS,
            part=complaint.gpu if failed else None,
            detail=said,
            category=None if complaint.follows else complaint.category,
            line=index,
        )
    if not ended or not reading.results:
        reading.unknown("gpud.scan", "the scan did not complete", line=reading.last_line)


GPUD_SCAN: Final = CheckFormat("gpud_scan", claimed, read, words=("scanning the host (GOOS ",))
