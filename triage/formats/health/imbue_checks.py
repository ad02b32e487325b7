r"""What ``run_health_checks.py`` of imbue-ai/cluster-health prints: nodes by how ill they are.

::

    Health ComputeHostHealth.CRITICAL
    10.0.0.7:
    Several issues were found:
    \t0: HealthCheckError: GPU 3 has uncorrectable ECC errors
    ----------------------------SUMMARY:----------------------------

    Nodes with ComputeHostHealth.OK: ['10.0.0.8']
    Nodes with ComputeHostHealth.CRITICAL: ['10.0.0.7']

A single issue stands below its node without a class. Nodes that could not be reached
(UNKNOWN) were not checked.
"""

import re
from typing import Final

from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.host_checks import STATUSES
from triage.formats.health.part_words import category_in
from triage.formats.health.reading import Reading, check_name, lines_of

__all__ = ["IMBUE_CHECKS"]

STATES: Final = "OK|CRITICAL|UNHEALTHY|UNKNOWN"
HEALTH: Final = re.compile(rf"Health ComputeHostHealth\.({STATES})\s*$")
SUMMARY: Final = re.compile(rf"Nodes with ComputeHostHealth\.({STATES}): \[(.*)\]\s*$")
NAMED: Final = re.compile(r"'([^']{1,256})'")
NODE: Final = re.compile(r"(\S{1,256}): ?$")
# "0: HealthCheckError: GPU 3 has uncorrectable ECC errors"
ISSUE: Final = re.compile(r"\s*\d{1,3}: (?:Compound)?HealthCheck(\w{1,30}): (.{1,300})$")
SEVERAL: Final = "Several issues were found:"
REMEDIES: Final = "Several issues were found, and the suggested remediations are:"
FIRST_LINES: Final = 40
# The first words of an issue are as much of a name as it has.
NAME_WORDS: Final = 6


def claimed(head: str) -> bool:
    return any(HEALTH.match(line.rstrip("\r")) for line in head.split("\n")[:FIRST_LINES])


def read(text: str, reading: Reading) -> None:
    health, node, first = "", "", False
    told: set[str] = set()
    for index, line in lines_of(text):
        if (found := HEALTH.match(line)) is not None:
            health, node = found[1], ""
        elif (found := SUMMARY.match(line)) is not None:
            health = ""
            summed(found[1], NAMED.findall(found[2]), told, index, reading)
        elif health in ("", "OK", "UNKNOWN"):
            continue
        elif not line[:1].isspace() and (named := NODE.match(line)) and line != SEVERAL:
            node, first = named[1], True
        elif line == REMEDIES:
            node = ""
        elif node and (issue := ISSUE.match(line)) is not None:
            issue_of(node, health, issue[1], issue[2], index, reading)
            told.add(node)
        elif node and first and line.strip() and line != SEVERAL:
            issue_of(node, health, "Error", line.strip(), index, reading)
            told.add(node)
        first = first and (line == "" or NODE.match(line) is not None)


def issue_of(node: str, health: str, sort: str, said: str, line: int, reading: Reading) -> None:
    """One issue; a warning that stands beside errors stays one."""
    fails = health == "CRITICAL" and sort == "Error"
    reading.add(
        check_name("host", " ".join(said.split()[:NAME_WORDS])),
        Outcome.FAIL if fails else Outcome.WARN,
        node=node,
        detail=said,
        category=category_in(said),
        line=line,
    )


def summed(state: str, nodes: list[str], told: set[str], line: int, reading: Reading) -> None:
    """The checks as a whole, of the nodes of which nothing more exact was said."""
    for node in nodes:
        if node not in told:
            outcome = STATUSES[state.lower()]
            reading.add("host.all", outcome, node=node, detail=f"all checks: {state}", line=line)


IMBUE_CHECKS: Final = CheckFormat(
    "imbue_host_checks", claimed, read, words=("Health ComputeHostHealth.",)
)
