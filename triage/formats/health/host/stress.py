"""Stress tests of a host: ``memtester`` and ``stress-ng``.

::

    memtester version 4.5.1 (64-bit)
    Loop 1/1:
      Stuck Address       : ok
      Random Value        : FAILURE: 0x1fe != 0x1ff at offset 0x0000000000a1c0de.
    Done.

    stress-ng: fail:  [4711] vm: detected 3 bit errors while stressing memory
    stress-ng: info:  [4700] unsuccessful run completed in 60.02 secs

A test that did not come to its end, or got no memory, says nothing.
"""

import re
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.reading import Reading, line_at, lines_of

__all__ = ["MEMTESTER", "STRESS_NG"]

MEMTESTER_HEAD: Final = re.compile(r"^memtester version \d[\d.]{0,8}", re.M)
FAILURE: Final = re.compile(r"FAILURE: ?(?P<what>[^\n]{1,160})")
DONE: Final = re.compile(r"^Done\.\s*$", re.M)
PASSED: Final = re.compile(r": {1,40}[^\n]{0,4000}?ok\s*$", re.M)
# "stress-ng: fail:  [4711] vm: ..."; some versions print the time in front of the number
STRESS_LINE: Final = re.compile(
    r"stress-ng: (?:\d\d:\d\d:\d\d\.\d\d )?(?P<level>info|fail|error|warn|metrc): {1,2}"
    r"\[\d{1,10}\] (?P<said>[^\n]{1,200})"
)
RUN: Final = re.compile(r"(?P<un>un)?successful run completed in ")
MEMORY_STRESS: Final = re.compile(
    r"\b(?:stress-ng-)?(?:vm|memrate|memthrash|memcpy|stream|mmap|malloc|bigheap)\b|bit error", re.I
)


def claimed_memtester(head: str) -> bool:
    return MEMTESTER_HEAD.search(head) is not None


def read_memtester(text: str, reading: Reading) -> None:
    head = MEMTESTER_HEAD.search(text)
    first = line_at(text, head.start()) if head else 1
    reading.saw(first)
    reading.saw(max(first, text.count("\n") + (not text.endswith("\n"))))
    failures = list(FAILURE.finditer(text))
    check = "memory.memtester"
    if failures:
        found = failures[0]
        reading.add(
            check,
            Outcome.FAIL,
            detail=f"{len(failures)} failures, the first: {found['what']}",
            category=Category.HOST_MEMORY,
            line=line_at(text, found.start()),
        )
    elif DONE.search(text) is not None and PASSED.search(text) is not None:
        reading.add(check, Outcome.PASS, detail="every pattern was read back", line=first)
    else:
        reading.unknown(check, "it did not come to its end", line=first)


def claimed_stress(head: str) -> bool:
    return STRESS_LINE.search(head) is not None


def read_stress(text: str, reading: Reading) -> None:
    check = "host.stress_ng"
    failures: list[tuple[int, str]] = []
    ended: re.Match[str] | None = None
    for index, line in lines_of(text):
        found = STRESS_LINE.search(line)
        if found is None:
            continue
        reading.saw(index)
        if found["level"] == "fail":
            failures.append((index, found["said"]))
        ended = RUN.search(found["said"]) or ended
    if failures:
        index, said = failures[0]
        memory = any(MEMORY_STRESS.search(words) for _, words in failures)
        reading.add(
            check,
            Outcome.FAIL,
            detail=f"{len(failures)} failures, the first: {said}",
            category=Category.HOST_MEMORY if memory else Category.CPU,
            line=index,
        )
    elif ended is None:
        reading.unknown(check, "it did not come to its end")
    elif ended["un"]:
        detail = "the run was not successful, and no failure is named"
        reading.add(check, Outcome.WARN, detail=detail)
    else:
        reading.add(check, Outcome.PASS, detail="the run was successful")


MEMTESTER: Final = CheckFormat(
    "memtester",
    claimed_memtester,
    read_memtester,
    cut_as="memory.memtester",
    words=("memtester version ",),
)
STRESS_NG: Final = CheckFormat(
    "stress_ng", claimed_stress, read_stress, cut_as="host.stress_ng", words=("stress-ng: ",)
)
