"""ROCm Validation Suite: one line a result, and the summary table of newer versions.

::

    [RESULT] [694381.521373] [action_1] gst 33367 Gflops 5133.4 met: FALSE pass: FALSE
    | gpustress-9000-sgemm-true        | GST            | FAIL            |

A line may name the GPU by its number among AMD's (``GPU:: 33367``), which is no index: the
result is the node's.
"""

import re
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.reading import Reading, check_name, lines_of

__all__ = ["RVS"]

LINE: Final = re.compile(
    r"\[(?P<level>RESULT|ERROR ?)\] ?\[\s{0,8}\d{1,12}\.\d{1,9}\s?\] ?(?P<wording>.{1,400})"
)
PASSED: Final = re.compile(
    r"\b(?:pass|result):? ?(?P<word>TRUE|FALSE|PASS|FAIL)\b|\b(?P<bare>PASS|FAIL)\s*$",
    re.IGNORECASE,
)
MODULE: Final = re.compile(r"\b(gst|iet|pebb|pbqt|peqt|pesm|gm|gpup|rcqt|babel|mem|tst|smqt)\b")
ACTION: Final = re.compile(r"\[([\w.-]{1,80})\]")
ROW: Final = re.compile(
    r"\|\s?([\w.-]{2,80})\s{1,60}\|\s?([A-Za-z]{2,8})\s{1,30}\|\s?(PASS|FAIL)\w{0,3}\s"
)
SUMMARY: Final = "ROCm Validation Suite (RVS) Summary"
ERROR: Final = re.compile(r"RVS-ERROR \[(\w{2,12})\] ?(.{1,300})")
OF_MODULE: Final = {
    "gst": Category.GPU, "iet": Category.GPU, "babel": Category.GPU_HBM, "mem": Category.GPU_HBM,
    "pebb": Category.IO_BOARD, "peqt": Category.IO_BOARD, "pbqt": Category.NVLINK,
    "rcqt": Category.DEPENDENCY,
}  # fmt: skip


def claimed(head: str) -> bool:
    if SUMMARY in head or ERROR.search(head[:2000]):
        return True
    return any(
        LINE.match(line) and MODULE.search(line) for line in head.split("\n")[:40]
    )  # fmt: skip


def read(text: str, reading: Reading) -> None:
    for index, line in lines_of(text):
        found, row = LINE.match(line), ROW.match(line)
        if row is not None:
            reading.saw(index)
            add(row[2].lower(), row[1], row[3] == "PASS", line, index, reading)
        elif found is not None and (passed := PASSED.search(found["wording"])) is not None:
            reading.saw(index)
            module = MODULE.search(found["wording"])
            action = ACTION.search(found["wording"])
            good = (passed["word"] or passed["bare"]).upper() in ("TRUE", "PASS")
            name = action[1] if action else "action"
            add(module[1] if module else "", name, good, found["wording"], index, reading)
        elif (error := ERROR.search(line)) is not None:
            reading.saw(index)
            reading.unknown("rvs.run", error[0], line=index)
    if not reading.results:
        reading.unknown("rvs.run", "no action has a result", line=1)


def add(module: str, action: str, good: bool, wording: str, line: int, reading: Reading) -> None:
    reading.add(
        check_name("rvs", f"{module} {action}"), Outcome.PASS if good else Outcome.FAIL,
        detail=wording, category=OF_MODULE.get(module), line=line,
    )  # fmt: skip


RVS: Final = CheckFormat(
    "rvs", claimed, read, words=(SUMMARY, "RVS-ERROR", "[RESULT]", "[ERROR]", "[ERROR ]")
)
