"""gpu-burn: GPUs that compute wrong results under load, or die.

::

    10.0%  proc'd: 4080 (14100 Gflop/s) - 4080 (14050 Gflop/s)   errors: 0 - 12 (WARNING!)   temps:
    Tested 2 GPUs:
            GPU 0: OK
            GPU 1: FAULTY

Progress is printed over itself with carriage returns. A run without its last lines says nothing
good of any GPU.
"""

import re
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.cluster.agent_report import complaint_of
from triage.formats.health.reading import Reading, line_at

__all__ = ["GPU_BURN"]

CLAIM: Final = re.compile(
    r"\d%\s{1,4}proc'd: \d{1,12}\b[^\n]{0,40}flop/s|^Tested \d{1,4} GPUs:"
    r"|Couldn't init a GPU test: |^Burning for \d{1,9} seconds",
    re.MULTILINE,
)
WORDS: Final = ("proc'd:", "Tested ", "init a GPU test", "Burning for ")
# "errors: 0 - 12 (WARNING!) - 0 (DIED!)   temps: 61 C - 63 C"
ERRORS: Final = re.compile(
    r"errors: (?P<counts>-?\d{1,12}(?:\s?\([A-Z]{2,10}!?\))?"
    r"(?: - -?\d{1,12}(?:\s?\([A-Z]{2,10}!?\))?){0,63})"
)
COUNT: Final = re.compile(r"(-?\d{1,12})(?:\s?\(([A-Z]{2,10})!?\))?")
ENDED: Final = re.compile(r"^Tested (\d{1,4}) GPUs?:", re.MULTILINE)
GPU: Final = re.compile(r"^\s{1,16}GPU (\d{1,4}): (OK|FAULTY)\b", re.MULTILINE)
TROUBLE: Final = re.compile(
    r"(?:Couldn't init (?:a GPU test|CUDA): |Failure during compute: |No clients are alive!)"
    r"([^\n]{0,300})"
)
CHECK: Final = "gpu_burn.compute"


def claimed(head: str) -> bool:
    return CLAIM.search(head) is not None


def read(text: str, reading: Reading) -> None:
    begun = CLAIM.search(text)
    reading.first_line = line_at(text, begun.start()) if begun else 1
    bad: dict[str, tuple[str, int, Category]] = {}
    for found in ERRORS.finditer(text):
        for number, (count, word) in enumerate(COUNT.findall(found["counts"])):
            if (count != "0" or word == "DIED") and f"gpu {number}" not in bad:
                died = word == "DIED" or count.startswith("-")
                said = "died under load" if died else f"{count} wrong results"
                category = Category.GPU if died else Category.SDC
                bad[f"gpu {number}"] = said, line_at(text, found.start()), category
    ends = list(ENDED.finditer(text))
    told = 0
    for found in GPU.finditer(text, ends[0].start() if ends else len(text)):
        part, line = f"gpu {int(found[1])}", line_at(text, found.start(1))
        told += 1
        if found[2] == "FAULTY" and part not in bad:
            bad[part] = "FAULTY", line, Category.SDC
        elif part not in bad:
            reading.add(CHECK, Outcome.PASS, part=part, detail="no wrong results", line=line)
    for part, (said, line, category) in bad.items():
        reading.add(CHECK, Outcome.FAIL, part=part, detail=said, category=category, line=line)
    for found in TROUBLE.finditer(text):
        complaint = complaint_of(found[0])
        reading.add(
            "gpu_burn.start", Outcome.FAIL, part=complaint.gpu, detail=found[0],
            category=complaint.category, line=line_at(text, found.start()),
        )  # fmt: skip
        break
    if told < sum(int(found[1]) for found in ends) or not told:
        reading.unknown(CHECK, "the run did not come to its end")


GPU_BURN: Final = CheckFormat("gpu_burn", claimed, read, words=WORDS)
