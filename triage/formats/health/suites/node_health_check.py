"""LBNL's Node Health Check, and the suites that print as it does (Azure's, among others).

::

    SUCCESS:  nhc:  Health check passed:  check_gpu_count: Expected 8 and found 8
    ERROR:  nhc:  Health check failed:  check_ecc: GPU id 3: SRAM Uncorrectable ECC error count ...
    Health checks completed with exit code: 0.

A node on which all is well prints nothing without ``-v``. What a check says is a script's word.
"""

import re
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.cluster.agent_report import Complaint, complaint_of
from triage.formats.health.part_words import category_in
from triage.formats.health.reading import Reading, check_name, lines_of

__all__ = ["NODE_HEALTH_CHECK", "complaint_in_words"]

# "ERROR:  nhc:  Health check failed:  check_ecc: GPU id 3: ..."; a launcher may label the line.
RESULT: Final = re.compile(
    r"(?P<sort>ERROR|SUCCESS):\s{1,4}nhc:\s{1,4}Health check (?P<word>failed|passed):\s{1,4}"
    r"(?:(?P<check>check_\w{2,60}):\s{0,4})?(?P<wording>.{0,600})"
)
TROUBLE: Final = re.compile(r"ERROR:\s{1,4}nhc:\s{1,4}(?P<wording>.{1,600})")
# "Health checks completed with exit code: 0."
EXIT: Final = re.compile(r"Health checks completed with exit code: (\d{1,3})\.")
CLAIM: Final = re.compile(
    r"(?:^|[\s>:])(?:ERROR|SUCCESS):\s{1,4}nhc:\s{1,4}\S"
    r"|^Health checks completed with exit code: \d",
    re.MULTILINE,
)


def claimed(head: str) -> bool:
    return CLAIM.search(head) is not None


def read(text: str, reading: Reading) -> None:
    for index, line in lines_of(text):
        found = RESULT.search(line)
        if found is not None:
            reading.saw(index)
            passed = found["word"] == "passed"
            of_check(found["check"] or "unnamed", found["wording"], index, reading, passed=passed)
        elif (trouble := TROUBLE.search(line)) is not None:
            # "Watchdog timer unable to terminate hung NHC process": the node was not checked.
            reading.saw(index)
            reading.unknown("nhc.run", trouble["wording"], line=index)
        elif (ended := EXIT.search(line)) is not None:
            reading.saw(index)
            bad = Outcome.FAIL in {one.outcome for one in reading.results}
            if ended[1] == "0" and not bad and reading.results:
                reading.add("nhc.run", Outcome.PASS, detail=ended[0], line=index)
            elif ended[1] == "0" and not bad:
                reading.unknown("nhc.run", "no check says that it ran", line=index)
            elif not bad:
                reading.add("nhc.run", Outcome.FAIL, detail=ended[0], line=index)
    if not reading.results:
        reading.unknown("nhc.run", "no check has a result", line=1)


def of_check(check: str, wording: str, line: int, reading: Reading, *, passed: bool) -> None:
    complaint = (
        Complaint() if passed else complaint_in_words(f"{check.replace('_', ' ')} {wording}")
    )
    reading.add(
        check_name("nhc", check.removeprefix("check_")),
        Outcome.PASS if passed else Outcome.FAIL,
        part=complaint.gpu,
        detail=wording,
        category=complaint.category,
        line=line,
    )


def complaint_in_words(words: str) -> Complaint:
    """The part in a script's words: as agents word it, else as people do."""
    complaint = complaint_of(words)
    if complaint.category in (None, Category.GPU):
        return Complaint(category_in(words) or complaint.category, complaint.follows, complaint.gpu)
    return complaint


NODE_HEALTH_CHECK: Final = CheckFormat(
    "node_health_check", claimed, read, words=("nhc:", "Health checks")
)
