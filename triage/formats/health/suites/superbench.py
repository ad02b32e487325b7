"""SuperBench: what benchmarks of a node returned, and which nodes its diagnosis calls defective.

``results-summary.json`` of one node or ``.jsonl`` of many, and ``diagnosis_summary.json(l)``::

    {"node": "n3", "kernel-launch/return_code": 0, "nccl-bw/return_code": 32}
    [{"index": "n3", "diagnosis/accept": false, "diagnosis/category": "KernelLaunch",
      "diagnosis/issue_details": "kernel-launch/event_overhead:0(B/L: 0.0060 VAL: 0.1000 ...)"}]

Without ``diagnosis/accept`` every node that is listed is defective. What was measured is held
against nothing here: the baseline stands in files of SuperBench.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.json_report import documents_of, items_of, text_in
from triage.formats.health.part_words import category_in
from triage.formats.health.reading import Reading, check_name

__all__ = ["SUPERBENCH"]

KEYS: Final = re.compile(
    r'"(?:[\w:./-]{1,120}[/:]return_code(?::\d{1,4})?|diagnosis/(?:accept|issue_details|category)'
    r'|Defective Details)"\s{0,4}:'
)
# "nccl-bw:nvlink/return_code", "gpt-7b/return_code:0"
CODE: Final = re.compile(r"([\w.:/-]{1,160})[/:]return_code(?::\d{1,4})?$")
# Arguments, precision or binary that do not fit the machine: nothing was measured.
NOT_RUN: Final = frozenset({1, 2, 10, 30, 31, 34, 50, 51, 52})


def claimed(head: str) -> bool:
    begins = head.lstrip("\ufeff \t\r\n").startswith(("{", "["))
    return begins and KEYS.search(head) is not None


def read(text: str, reading: Reading) -> None:
    for document in documents_of(text, reading):
        for entry in items_of(document):
            if reading.full:
                return
            node = text_in(entry, "node", "index")[:256] or None
            if any(key.startswith("diagnosis/") or key == "Defective Details" for key in entry):
                of_diagnosis(node, entry, reading)
            else:
                of_node(node, entry, reading)
    if not reading.results:
        reading.unknown("superbench.run", "no benchmark has a return code", line=1)


def of_diagnosis(node: str | None, entry: Mapping[str, Any], reading: Reading) -> None:
    accepted = entry.get("diagnosis/accept", entry.get("Accept"))
    said = text_in(entry, "diagnosis/issue_details", "Defective Details")
    sort = text_in(entry, "diagnosis/category", "Category")
    if accepted is True:
        reading.add("superbench.diagnosis", Outcome.PASS, node=node, detail="accepted", line=1)
        return
    reading.add(
        "superbench.diagnosis", Outcome.FAIL, node=node, detail=f"{sort}: {said}",
        category=category_in(f"{sort} {said}"), line=1,
    )  # fmt: skip


def of_node(node: str | None, entry: Mapping[str, Any], reading: Reading) -> None:
    """The return codes of one node's benchmarks, the worst of each benchmark's."""
    worst: dict[str, int] = {}
    for key, code in entry.items():
        found = CODE.match(key)
        if found is not None and isinstance(code, int) and not isinstance(code, bool):
            worst[found[1]] = max(worst.get(found[1], 0), abs(code))
    for benchmark, code in worst.items():
        outcome = Outcome.FAIL if code else Outcome.PASS
        if code in NOT_RUN:
            outcome = Outcome.SKIPPED
        said = json.dumps(benchmark)[1:-1]
        reading.add(
            check_name("superbench", benchmark), outcome, node=node,
            detail=f"{said}: return code {code}", line=1,
        )  # fmt: skip


SUPERBENCH: Final = CheckFormat(
    "superbench",
    claimed,
    read,
    lines=False,
    words=("return_code", '"diagnosis/', '"Defective Details"'),
)
