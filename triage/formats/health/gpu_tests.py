"""Tests of GPUs under load: gpu-burn and nvbandwidth."""

import re
from typing import Final

from triage.domain.category import Category
from triage.domain.patterns import compile_re
from triage.formats.health.complaints import classify_complaint
from triage.formats.health.reading import (
    FAIL,
    PASS,
    SKIPPED,
    Reading,
    check_name,
    count_line,
    iterate_lines,
)

# gpu-burn: progress is printed over itself with carriage returns. A run without its last lines says
# nothing good of any GPU.

_BURN: Final = compile_re(
    r"\d%\s{1,4}proc'd: \d{1,12}\b[^\n]{0,40}flop/s|^Tested \d{1,4} GPUs:"
    r"|Couldn't init a GPU test: |^Burning for \d{1,9} seconds",
    re.MULTILINE,
)
# "errors: 0 - 12 (WARNING!) - 0 (DIED!)   temps: 61 C - 63 C"
_ERRORS: Final = compile_re(
    r"errors: (?P<counts>-?\d{1,12}(?:\s?\([A-Z]{2,10}!?\))?"
    r"(?: - -?\d{1,12}(?:\s?\([A-Z]{2,10}!?\))?){0,63})"
)
_COUNT: Final = compile_re(r"(-?\d{1,12})(?:\s?\(([A-Z]{2,10})!?\))?")
_ENDED: Final = compile_re(r"^Tested (\d{1,4}) GPUs?:", re.MULTILINE)
GPU: Final = compile_re(r"^\s{1,16}GPU (\d{1,4}): (OK|FAULTY)\b", re.MULTILINE)
_TROUBLE: Final = compile_re(
    r"(?:Couldn't init (?:a GPU test|CUDA): |Failure during compute: |No clients are alive!)"
    r"([^\n]{0,300})"
)
_CHECK: Final = "gpu_burn.compute"


def read_gpu_burn(text: str, reading: Reading) -> None:
    begun = _BURN.search(text)
    reading.first_line = count_line(text, begun.start()) if begun else 1
    bad: dict[str, tuple[str, Category, int]] = {}
    for found in _ERRORS.finditer(text):
        for number, (count, word) in enumerate(_COUNT.findall(found["counts"])):
            if (count != "0" or word == "DIED") and f"gpu {number}" not in bad:
                died = word == "DIED" or count.startswith("-")
                said = "died under load" if died else f"{count} wrong results"
                category = Category.GPU if died else Category.SDC
                bad[f"gpu {number}"] = said, category, count_line(text, found.start())
    ends = list(_ENDED.finditer(text))
    told = 0
    for found in GPU.finditer(text, ends[0].start() if ends else len(text)):
        part, line = f"gpu {int(found[1])}", count_line(text, found.start(1))
        told += 1
        if found[2] == "FAULTY":
            bad.setdefault(part, ("FAULTY", Category.SDC, line))
        elif part not in bad:
            reading.add(_CHECK, PASS, part, "no wrong results", line=line)
    for part, why in bad.items():
        reading.add(_CHECK, FAIL, part, *why)
    if (trouble := _TROUBLE.search(text)) is not None:
        complaint, at_line = classify_complaint(trouble[0]), count_line(text, trouble.start())
        named = complaint.category
        reading.add("gpu_burn.start", FAIL, complaint.gpu, trouble[0], named, at_line)
    if told < sum(int(found[1]) for found in ends) or not told:
        reading.unknown(_CHECK, "the run did not come to its end")


# nvbandwidth: what a test measured is held against nothing, for no run says what it should be. A
# test that checks what it copied prints the first address with another value. Waived is what the
# machine cannot do.

_RUNNING: Final = compile_re(r"Running (\w{3,80})\.\s*$")
SUM: Final = compile_re(r"SUM (\w{3,80}) ([\d.]{1,20})\s*$")
_WRONG: Final = compile_re(r"\s?Invalid value when checking the pattern at")
# "[CUDA_ERROR_ECC_UNCORRECTABLE] uncorrectable ECC error encountered in expression cuStream..."
_ASSERTED: Final = compile_re(r"(?:NVML_ERROR: )?\[([^\]]{3,120})\] ?(.{0,300}?) ?in expression ")
_FAILED: Final = compile_re(r"(?:ERROR|Error|FAILED|ASSERT)(?::| in expression) ?(.{0,300})")
_ASKED_WRONGLY: Final = compile_re(r"Invalid Arguments|not found|did not match|cannot specify")
_RUN: Final = "nvbandwidth.run"


def read_nvbandwidth(text: str, reading: Reading) -> None:
    running, begun, wording = "", 0, ""
    for index, line in iterate_lines(text):
        if (found := _RUNNING.match(line)) is not None:
            _end_test(running, wording, begun, reading)
            running, begun, wording = found[1], index, ""
        elif (found := SUM.match(line)) is not None and found[1] == running:
            if wording:
                _tell_failed(running, wording, index, reading)
            else:
                name = check_name("nvbandwidth", running)
                reading.add(name, PASS, None, f"sum {found[2]} GB/s", line=index)
            running = wording = ""
        elif line.startswith("Waived"):
            reading.add(check_name("nvbandwidth", running or "waived"), SKIPPED, line=index)
            running = ""
        elif _WRONG.match(line):
            wording = wording or "a copy holds wrong values"
        elif (found := _ASSERTED.search(line)) is not None:
            _tell_failed(running, f"{found[1]}: {found[2]}", index, reading)
            running = wording = ""
        elif (found := _FAILED.match(line)) is not None:
            if _ASKED_WRONGLY.search(line):
                reading.unknown(_RUN, found[0], line=index)
            else:
                _tell_failed(running, found[0], index, reading)
                running = ""
    _end_test(running, wording, begun, reading)
    reading.none_found(_RUN, "no test has a result")


def _tell_failed(test: str, wording: str, line: int, reading: Reading) -> None:
    category = classify_complaint(wording.replace("_", " ")).category
    if "wrong values" in wording:
        category = Category.SDC
    reading.add(check_name("nvbandwidth", test or "run"), FAIL, None, wording, category, line)


def _end_test(running: str, wording: str, line: int, reading: Reading) -> None:
    """A test that began and did not end."""
    if running and wording:
        _tell_failed(running, wording, line, reading)
    elif running:
        why = "the test did not come to its end"
        reading.unknown(check_name("nvbandwidth", running), why, line=line)
