"""What people, schedulers and scripts of one's own say of nodes; see ``cluster.toml``.

A reason is what a person or another program concluded: it needs another source before it counts.
One that begins with ``triage:`` is our own conclusion come back, and is no news. Slurm prints
local times without a zone, which cannot be placed.
"""

from collections.abc import Sequence
from typing import Final

from triage.domain.category import HARDWARE
from triage.domain.hosts import expand
from triage.domain.patterns import compile_re
from triage.formats.health.complaints import find_category
from triage.formats.health.reading import (
    FAIL,
    PASS,
    SKIPPED,
    WARN,
    Reading,
    check_name,
    iterate_lines,
)
from triage.formats.health.rows import STATUSES, Block

_OURS: Final = "triage:"
DRAIN: Final = "slurm.drain"
# The reason may hold anything; what follows it does not.
_ROW: Final = compile_re(
    r"(.{0,300}?)\s+(\S{1,64})\s+(\d{4}-\d\d-\d\dT[\d:]{8}|Unknown)\s+(\S+)\s*$"
)
_OUT: Final = ("DRAIN", "DOWN", "FAIL", "NOT_RESPONDING", "MAINT")


def read_sinfo(text: str, reading: Reading) -> None:
    rows = ((index, line.strip()) for index, line in iterate_lines(text) if line.strip())
    next(rows, None)  # the header
    for index, line in rows:
        cells, found = line.split("|"), _ROW.match(line)
        if len(cells) >= 4:
            reason, hosts = "|".join(cells[:-3]), cells[-1]
        elif found is not None:
            reason, hosts = found[1], found[4]
        else:
            reading.skip(index, "no reason, user, time and list of nodes")
            continue
        try:
            for name in expand(hosts):
                _add_reason(name, reason, index, reading)
        except ValueError as error:
            reading.skip(index, str(error))


def judge_records(blocks: Sequence[Block], reading: Reading) -> None:
    for node, state, reason, line in (
        (one.get("node"), one.get("state"), one.get("reason"), one.line) for one in blocks
    ):
        if node and any(word in state.upper() for word in _OUT):
            _add_reason(node, reason or f"state {state}", line, reading)
        elif node:
            reading.add(DRAIN, PASS, None, f"state {state}", line=line, node=node)


def _add_reason(node: str, reason: str, line: int, reading: Reading) -> None:
    """A node that is out of service, by the words of its reason."""
    reason = reason.strip()
    category = find_category(reason)
    outcome = FAIL if category in HARDWARE else WARN
    if reason.lower().startswith(_OURS):
        outcome, reason = SKIPPED, f"drained by this product: {reason}"
    reading.add(DRAIN, outcome, None, reason, category, line, node=node)


# run_health_checks.py of imbue-ai/cluster-health: nodes by how ill they are. A single issue stands
# below its node without a class. Nodes that could not be reached (UNKNOWN) were not checked.

_STATES: Final = "OK|CRITICAL|UNHEALTHY|UNKNOWN"
_HEALTH: Final = compile_re(rf"Health ComputeHostHealth\.({_STATES})\s*$")
SUMMARY: Final = compile_re(rf"Nodes with ComputeHostHealth\.({_STATES}): \[(.*)\]\s*$")
_NAMED: Final = compile_re(r"'([^']{1,256})'")
_OF_NODE: Final = compile_re(r"(\S{1,256}): ?$")
# "0: HealthCheckError: GPU 3 has uncorrectable ECC errors"
_ISSUE: Final = compile_re(r"\s*\d{1,3}: (?:Compound)?HealthCheck(\w{1,30}): (.{1,300})$")
_SEVERAL: Final = "Several issues were found:"
_REMEDIES: Final = "Several issues were found, and the suggested remediations are:"
# The first words of an issue are as much of a name as it has.
_NAME_WORDS: Final = 6


def read_imbue(text: str, reading: Reading) -> None:
    health, node, first = "", "", False
    told: set[str] = set()

    def tell_issue(sort: str, said: str, line: int) -> None:
        """One issue; a warning that stands beside errors stays one."""
        outcome = FAIL if health == "CRITICAL" and sort == "Error" else WARN
        check = check_name("host", " ".join(said.split()[:_NAME_WORDS]))
        reading.add(check, outcome, None, said, find_category(said), line, node=node)
        told.add(node)

    for index, line in iterate_lines(text):
        if (found := _HEALTH.match(line)) is not None:
            health, node = found[1], ""
        elif (found := SUMMARY.match(line)) is not None:
            # The checks as a whole, of the nodes of which nothing more exact was said.
            health, outcome, said = "", STATUSES[found[1].lower()], f"all checks: {found[1]}"
            for name in _NAMED.findall(found[2]):
                if name not in told:
                    reading.add("host.all", outcome, None, said, line=index, node=name)
        elif health in ("", "OK", "UNKNOWN"):
            continue
        elif not line[:1].isspace() and (named := _OF_NODE.match(line)) and line != _SEVERAL:
            node, first = named[1], True
        elif line == _REMEDIES:
            node = ""
        elif node and (issue := _ISSUE.match(line)) is not None:
            tell_issue(issue[1], issue[2], index)
        elif node and first and line.strip() and line != _SEVERAL:
            tell_issue("Error", line.strip(), index)
        first = first and (line == "" or _OF_NODE.match(line) is not None)
