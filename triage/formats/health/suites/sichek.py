"""sichek's results: what its daemon writes as JSON, and what ``sichek all`` prints.

::

    {"item": "nvidia", "node": "n3", "status": "abnormal", "level": "critical",
     "time": "2026-03-14T02:41:05Z",
     "checkers": [{"name": "PCIe", "device": "GPU-6b1f...", "status": "abnormal",
                   "level": "critical", "detail": "...", "error_name": "PCIeDegraded"}]}

    Memory ECC:
            SRAM Volatile Uncorrectable Found

Times are those of the check. Of what it prints, lines that say what was found, lost or is not as
it should be fail; they name no level.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.cluster.agent_report import gpu_part
from triage.formats.health.json_report import documents_of, items_of, moment, text_in
from triage.formats.health.reading import Reading, check_name, lines_of
from triage.formats.health.suites.node_health_check import complaint_in_words

__all__ = ["SICHEK", "SICHEK_JSON"]

CHECKERS: Final = re.compile(r'"checkers"\s{0,4}:\s{0,4}(?:\[|null)')
STATUS: Final = re.compile(r'"status"\s{0,4}:\s{0,4}"(?:normal|abnormal)"')
LEVELS: Final = {"warning": Outcome.WARN, "info": Outcome.WARN}
TITLES: Final = ("Clock Events:", "Memory ECC:", "Remapped Rows:")
SECTION: Final = re.compile(r"(?:System Settings and Status|NVIDIA GPU|Clock Events|Memory ECC"
                            r"|Remapped Rows):\s*$")  # fmt: skip
GOOD: Final = re.compile(r"No [A-Z][\w /-]{2,60} Found$")
LOST: Final = re.compile(r"(\d{1,3}) GPUs detected, (\d{1,3}) GPUs lost")
DETECTED: Final = re.compile(r"(\d{1,3}) GPUs detected, (\d{1,3}) GPUs used")
NONE: Final = "No GPU devices available"


def claimed_json(head: str) -> bool:
    begins = head.lstrip("\ufeff \t\r\n").startswith(("{", "["))
    return begins and CHECKERS.search(head) is not None and STATUS.search(head) is not None


def read_json(text: str, reading: Reading) -> None:
    for document in documents_of(text, reading):
        for result in results_in(document):
            for checker in items_of(result.get("checkers")):
                if reading.full:
                    return
                of_checker(result, checker, reading)
    if not reading.results:
        reading.unknown("sichek.run", "no checker has a result", line=1)


def results_in(document: object) -> list[Mapping[str, Any]]:
    """Results of components, alone, in a list, or by their names."""
    found = []
    for entry in items_of(document):
        if "checkers" in entry:
            found.append(entry)
        else:
            found += [
                one for one in entry.values() if isinstance(one, Mapping) and "checkers" in one
            ]
    return found


def of_checker(result: Mapping[str, Any], checker: Mapping[str, Any], reading: Reading) -> None:
    item, name = text_in(result, "item"), text_in(checker, "name")
    status, level = text_in(checker, "status"), text_in(checker, "level")
    said = " ".join(text_in(checker, key) for key in ("error_name", "detail")).strip()
    if status not in ("normal", "abnormal"):
        reading.unknown(check_name("sichek", name), f"status {status[:40]!r}", line=1)
        return
    outcome = Outcome.PASS
    if status == "abnormal":
        outcome = LEVELS.get(level, Outcome.FAIL)
    complaint = complaint_in_words(f"{item} {name} {said}")
    if complaint.follows and outcome is Outcome.FAIL:
        outcome = Outcome.WARN
    reading.add(
        check_name("sichek", f"{item} {name}"), outcome,
        part=gpu_part(text_in(checker, "device")) or complaint.gpu, detail=said,
        category=complaint.category, at=moment(text_in(result, "time")),
        node=text_in(result, "node")[:256] or None, line=1,
    )  # fmt: skip


def claimed(head: str) -> bool:
    return sum(title in head for title in TITLES) >= 2


def read(text: str, reading: Reading) -> None:
    """Lines below the titles; a title without lines says nothing."""
    section, told = "", 0
    for index, line in lines_of(text):
        words = line.strip()
        if SECTION.match(words):
            section = words.rstrip(":")
            reading.saw(index)
        elif LOST.search(words) or words == NONE:
            gone = words == NONE or LOST.search(words)[2] != "0"  # type: ignore[index]
            add("gpus", words, index, reading, passed=not gone)
        elif DETECTED.search(words):
            add("gpus", words, index, reading, passed=not words.startswith("0 "))
        elif section and line[:1].isspace() and words:
            told += 1
            reading.saw(index)
            add(section, words, index, reading, passed=GOOD.match(words) is not None)
        elif words:
            section = ""
    if not told:
        reading.unknown("sichek.run", "no check has a result", line=1)
    elif "Remapped Rows:" not in text:
        reading.unknown("sichek.run", "the output breaks off", line=reading.last_line)


def add(section: str, words: str, line: int, reading: Reading, *, passed: bool) -> None:
    complaint = complaint_in_words(f"GPU {section}: {words}")
    name = " ".join(words.removeprefix("No ").split()[:5])
    reading.add(
        check_name("sichek", "gpus" if section == "gpus" else f"{section} {name}"),
        Outcome.PASS if passed else Outcome.FAIL,
        part=None if passed else complaint.gpu, detail=words,
        category=complaint.category, line=line,
    )  # fmt: skip


SICHEK: Final = CheckFormat("sichek", claimed, read, words=TITLES)
SICHEK_JSON: Final = CheckFormat(
    "sichek_json", claimed_json, read_json, lines=False, words=('"checkers"',)
)
