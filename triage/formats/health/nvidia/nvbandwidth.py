"""nvbandwidth: copies between GPUs and hosts, as text or with ``-j``.

::

    nvbandwidth Version: v0.8
    Device 0: NVIDIA H100 80GB HBM3 (00000000:1b:00)
    Running host_to_device_memcpy_ce.
    SUM host_to_device_memcpy_ce 443.20
    Waived:

    {"nvbandwidth": {"testcases": [{"name": "device_local_copy", "status": "Passed"}]}}

What a test measured is held against nothing: no run says what it should be. A test that checks
what it copied prints the first address with another value. Waived is what the machine cannot do.
"""

import re
from collections.abc import Mapping
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.cluster.agent_report import complaint_of
from triage.formats.health.json_report import documents_of, items_of, text_in
from triage.formats.health.reading import Reading, check_name, lines_of

__all__ = ["NVBANDWIDTH", "NVBANDWIDTH_JSON"]

CLAIM: Final = re.compile(r"^nvbandwidth Version: v?\d", re.MULTILINE)
CLAIM_JSON: Final = re.compile(r'"nvbandwidth"\s{0,20}:\s{0,20}\{')
RUNNING: Final = re.compile(r"Running (\w{3,80})\.\s*$")
SUM: Final = re.compile(r"SUM (\w{3,80}) ([\d.]{1,20})\s*$")
WRONG: Final = re.compile(r"\s?Invalid value when checking the pattern at")
# "[CUDA_ERROR_ECC_UNCORRECTABLE] uncorrectable ECC error encountered in expression cuStream..."
ASSERTED: Final = re.compile(r"(?:NVML_ERROR: )?\[([^\]]{3,120})\] ?(.{0,300}?) ?in expression ")
FAILED: Final = re.compile(r"(?:ERROR|Error|FAILED|ASSERT)(?::| in expression) ?(.{0,300})")
ASKED_WRONGLY: Final = re.compile(r"Invalid Arguments|not found|did not match|cannot specify")
STATUSES: Final = {
    "passed": Outcome.PASS, "waived": Outcome.SKIPPED, "not found": Outcome.SKIPPED,
    "error": Outcome.FAIL, "failed": Outcome.FAIL,
}  # fmt: skip


def claimed(head: str) -> bool:
    return CLAIM.search(head) is not None


def read(text: str, reading: Reading) -> None:
    running, begun, wording = "", 0, ""
    for index, line in lines_of(text):
        if (found := RUNNING.match(line)) is not None:
            cut_off(running, wording, begun, reading)
            running, begun, wording = found[1], index, ""
        elif (found := SUM.match(line)) is not None and found[1] == running:
            if wording:
                failed(running, wording, index, reading)
            else:
                name = check_name("nvbandwidth", running)
                reading.add(name, Outcome.PASS, detail=f"sum {found[2]} GB/s", line=index)
            running = wording = ""
        elif line.startswith("Waived"):
            reading.add(check_name("nvbandwidth", running or "waived"), Outcome.SKIPPED, line=index)
            running = ""
        elif WRONG.match(line):
            wording = wording or "a copy holds wrong values"
        elif (found := ASSERTED.search(line)) is not None:
            failed(running, f"{found[1]}: {found[2]}", index, reading)
            running = wording = ""
        elif (found := FAILED.match(line)) is not None:
            if ASKED_WRONGLY.search(line):
                reading.unknown("nvbandwidth.run", found[0], line=index)
            else:
                failed(running, found[0], index, reading)
                running = ""
    cut_off(running, wording, begun, reading)
    if not reading.results:
        reading.unknown("nvbandwidth.run", "no test has a result", line=1)


def failed(test: str, wording: str, line: int, reading: Reading) -> None:
    category = complaint_of(wording.replace("_", " ")).category
    if "wrong values" in wording:
        category = Category.SDC
    name = check_name("nvbandwidth", test or "run")
    reading.add(name, Outcome.FAIL, detail=wording, category=category, line=line)


def cut_off(running: str, wording: str, line: int, reading: Reading) -> None:
    """A test that began and did not end."""
    if running and wording:
        failed(running, wording, line, reading)
    elif running:
        why = "the test did not come to its end"
        reading.unknown(check_name("nvbandwidth", running), why, line=line)


def claimed_json(head: str) -> bool:
    begins = head.lstrip("\ufeff \t\r\n").startswith("{")
    return begins and CLAIM_JSON.search(head) is not None


def read_json(text: str, reading: Reading) -> None:
    for document in documents_of(text, reading):
        root = document.get("nvbandwidth") if isinstance(document, Mapping) else None
        if not isinstance(root, Mapping):
            continue
        for test in items_of(root.get("testcases")):
            status, wording = text_in(test, "status"), text_in(test, "error")
            name = text_in(test, "name")
            outcome = STATUSES.get(status.lower())
            if outcome is Outcome.FAIL or wording:
                failed(name, wording or status, 1, reading)
            elif outcome is None:
                reading.unknown(check_name("nvbandwidth", name), f"status {status[:40]!r}", line=1)
            else:
                reading.add(check_name("nvbandwidth", name), outcome, detail=status, line=1)
        error = text_in(root, "error")
        if error and ASKED_WRONGLY.search(error):
            reading.unknown("nvbandwidth.run", error, line=1)
        elif error:
            failed("run", error, 1, reading)
    if not reading.results:
        reading.unknown("nvbandwidth.run", "no test has a result", line=1)


NVBANDWIDTH: Final = CheckFormat("nvbandwidth", claimed, read, words=("nvbandwidth",))
NVBANDWIDTH_JSON: Final = CheckFormat(
    "nvbandwidth_json", claimed_json, read_json, lines=False, words=('"nvbandwidth"',)
)
