"""``dcgmi diag -j``: which test of which GPU failed, in the forms of DCGM 2, 3 and 4.

DCGM 3 names GPUs by ``gpu_id`` (before, several in ``gpu_ids``)::

    {"DCGM GPU Diagnostic": {"test_categories": [{"category": "Hardware", "tests": [
      {"name": "Memory", "results": [
        {"gpu_id": "3", "status": "Fail", "warnings": [
          {"error_id": 40, "error_category": 1, "warning": "Detected 2 double bit errors"}]}]}]}]}}

DCGM 4 names entities, and sums each test up::

    {"DCGM Diagnostic": {"test_categories": [{"category": "Hardware", "tests": [
      {"name": "memory", "results": [
        {"entity_group": "GPU", "entity_group_id": 1, "entity_id": 3, "status": "Fail",
         "warnings": [{"error_id": 40, "warning": "..."}]}],
       "test_summary": {"status": "Fail"}}]}]}}

Lines before and after the object are another program's. DCGM counts GPUs in its own order,
which is nvidia-smi's; a part is ``gpu 3``, for no address is printed.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.dcgm.error_ids import category_of_errors
from triage.formats.health.reading import Reading, check_name, line_at

__all__ = ["DCGM_DIAG", "OUTCOMES", "category_of", "parts_of", "words_of"]

# Of the diagnosis over several nodes a title stands there.
CLAIM: Final = re.compile(r'"DCGM (?:GPU )?Diagnostic"\s{0,20}:(?!\s{0,20}")')
OUTCOMES: Final = {
    "pass": Outcome.PASS, "passed": Outcome.PASS,
    "fail": Outcome.FAIL, "failed": Outcome.FAIL,
    "warn": Outcome.WARN, "warning": Outcome.WARN,
    "skip": Outcome.SKIPPED, "skipped": Outcome.SKIPPED, "not run": Outcome.SKIPPED,
}  # fmt: skip
# What a test that fails is about, where its warning does not say it better.
OF_TEST: Final = {
    "memory": Category.GPU_HBM, "memory_bandwidth": Category.GPU_HBM,
    "memtest": Category.GPU_HBM, "page_retirement_row_remap": Category.GPU_HBM,
    "pcie": Category.IO_BOARD, "nvbandwidth": Category.NVLINK, "nvlink": Category.NVLINK,
    "targeted_power": Category.POWER, "pulse_test": Category.POWER,
    "diagnostic": Category.GPU, "sm_stress": Category.GPU, "targeted_stress": Category.GPU,
    "inforom": Category.GPU, "eud": Category.GPU, "cpu_eud": Category.CPU,
}  # fmt: skip
# "Thermal violations detected", "clocks throttled for thermal": heat, whatever was tested.
OF_WARNING: Final = (
    (re.compile(r"thermal|temperature", re.IGNORECASE), Category.GPU_THERMAL),
    (re.compile(r"nv ?link|nvswitch|fabric manager", re.IGNORECASE), Category.NVLINK),
    (
        re.compile(r"double[- ]bit|\bDBE|row remap|retired page|ecc", re.IGNORECASE),
        Category.GPU_HBM,
    ),
    (re.compile(r"\bpcie?\b", re.IGNORECASE), Category.IO_BOARD),
)
# Drivers, libraries and permissions: nothing of a part.
SOFTWARE: Final = frozenset({"deployment", "software"})
GPU_IDS: Final = re.compile(r"[0-9]{1,4}", re.ASCII)
MAX_WARNINGS: Final = 4


def claimed(head: str) -> bool:
    return CLAIM.search(head) is not None


def read(text: str, reading: Reading) -> None:
    found = CLAIM.search(text)
    if found is None:
        return
    begin = text.rfind("{", 0, found.start())
    if begin < 0:
        reading.skip(line_at(text, found.start()), "no object stands around the diagnostic")
        return
    reading.first_line = line_at(text, begin)
    try:
        document, end = json.JSONDecoder().raw_decode(text, begin)
    except (ValueError, RecursionError) as error:
        reading.skip(reading.first_line, f"not valid JSON: {error}")
        return
    reading.last_line = line_at(text, end)
    for name, value in document.items():
        if CLAIM.match(f'"{name}":') and isinstance(value, Mapping):
            of_diagnostic(value, reading)


def of_diagnostic(found: Mapping[str, Any], reading: Reading) -> None:
    error = found.get("runtime_error") or found.get("Error")
    if isinstance(error, str) and error:
        reading.add("dcgm.run", Outcome.WARN, detail=error, line=reading.first_line)
    for category in listed(found.get("test_categories")):
        family = str(category.get("category", "")).lower()
        for test in listed(category.get("tests")):
            of_test(test, family, reading)


def listed(value: object) -> Iterator[Mapping[str, Any]]:
    """The objects of a list; DCGM leaves nulls between them."""
    if isinstance(value, list):
        yield from (one for one in value if isinstance(one, Mapping))


def of_test(test: Mapping[str, Any], family: str, reading: Reading) -> None:
    name = check_name("dcgm", str(test.get("name", "")))
    for result in listed(test.get("results")):
        status = str(result.get("status", "")).strip().lower()
        outcome = OUTCOMES.get(status)
        if outcome is None:
            reading.skip(reading.first_line, f"{name}: unknown status {status[:40]!r}")
            continue
        warning = words_of(result)
        for part in parts_of(result):
            reading.add(
                name,
                outcome,
                part=part,
                detail=warning,
                category=category_of(name.removeprefix("dcgm."), family, result, warning),
                line=reading.first_line,
            )


def parts_of(result: Mapping[str, Any]) -> list[str | None]:
    """``gpu 3`` for each GPU that a result is of; one None for the node as a whole."""
    if "entity_id" in result:
        group = str(result.get("entity_group", "GPU")).lower()[:16]
        return [f"{group} {number}" for number in GPU_IDS.findall(str(result["entity_id"]))[:1]]
    ids = result.get("gpu_id", result.get("gpu_ids"))
    if ids is None:
        return [None]
    found: list[str | None] = [f"gpu {number}" for number in GPU_IDS.findall(str(ids))]
    return found or [None]


def words_of(result: Mapping[str, Any]) -> str:
    """The warnings of a result: texts, or objects that hold one."""
    found = result.get("warnings", result.get("warning"))
    if isinstance(found, str):
        return found
    said = []
    for one in found[:MAX_WARNINGS] if isinstance(found, list) else ():
        if isinstance(one, Mapping):
            number = one.get("error_id")
            text = str(one.get("warning", ""))
            said.append(f"{text} (error {number})" if isinstance(number, int) else text)
        else:
            said.append(str(one))
    return "; ".join(said)


def category_of(test: str, family: str, result: Mapping[str, Any], warning: str) -> Category | None:
    """What a result is about: the number of its error, else its words, else the test."""
    numbered = category_of_errors(result)
    if numbered is not None:
        return numbered
    for pattern, category in OF_WARNING:
        if pattern.search(warning):
            return category
    if test in OF_TEST:
        return OF_TEST[test]
    return Category.DEPENDENCY if family in SOFTWARE else Category.GPU


DCGM_DIAG: Final = CheckFormat(
    "dcgm_diag", claimed, read, words=('"DCGM Diagnostic"', '"DCGM GPU Diagnostic"')
)
