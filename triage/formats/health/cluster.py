"""What people, schedulers and scripts of one's own say of nodes; see ``cluster.toml``.

A reason is what a person or another program concluded: it needs another source before it counts.
One that begins with ``triage:`` is our own conclusion come back, and is no news. Slurm prints
local times without a zone, which cannot be placed.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from triage.domain.category import HARDWARE, Category
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
    parse_zoned_time,
)
from triage.formats.health.rows import STATUSES

_OURS: Final = "triage:"
DRAIN: Final = "slurm.drain"
# The reason may hold anything; what follows it does not.
_ROW: Final = compile_re(
    r"(.{0,300}?)\s+(\S{1,64})\s+(\d{4}-\d\d-\d\dT[\d:]{8}|Unknown)\s+(\S+)\s*$"
)
_NODE: Final = compile_re(r"NodeName=(\S{1,256})")
_STATE: Final = compile_re(r"\bState=(\S{1,120})")
REASON: Final = compile_re(r"^\s*Reason=(.{1,300}?)(?: \[[^\]\[]{1,80}@[^\]\[]{1,40}\])?\s*$")
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


def read_records(text: str, reading: Reading) -> None:
    node, state, reason, first = "", "", "", 1
    for index, line in iterate_lines(f"{text}\nNodeName="):
        if line.startswith("NodeName="):
            if node and any(word in state.upper() for word in _OUT):
                _add_reason(node, reason or f"state {state}", first, reading)
            elif node:
                reading.add(DRAIN, PASS, None, f"state {state}", line=first, node=node)
            named = _NODE.match(line)
            node, state, reason, first = named[1] if named else "", "", "", index
        if (found := _STATE.search(line)) is not None:
            state = found[1]
        if (found := REASON.match(line)) is not None:
            reason = found[1]


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


# Host checks of one's own: JSON lines, or ``name: STATUS`` line by line in a file of one node.

_CATEGORIES: Final = {str(one): one for one in Category}
# "pcie_width: FAIL x8 of x16"
_PLAIN: Final = compile_re(
    rf"([A-Za-z][\w./ -]{{1,60}}?)\s*[:=]\s*({'|'.join(STATUSES)})\b[\s:,-]*(.{{0,300}})$", re.I
)
# "srun: error: ...", "train.py: warning: ...": a program's name and how grave it is.
_SEVERITIES: Final = frozenset({"error", "warn", "warning", "critical", "unknown"})
_MAX_OBJECT: Final = 64 << 10
_MAX_WORDS: Final = 6
_FIRST_LINES: Final = 40
# The beginning of a file that is longer than what was looked at.
_CUT_CHARS: Final = 4000


def begins_host_json(head: str) -> bool:
    first = next((line for line in head.split("\n") if line.strip()), "")
    if not first.lstrip().startswith("{") or '"check"' not in first or '"status"' not in first:
        return False
    return str(_parse_line_object(first).get("status", "")).lower() in STATUSES


def _parse_line_object(line: str) -> Mapping[str, Any]:
    """The object that a line is, empty where it is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, Mapping) else {}


def read_host_json(text: str, reading: Reading) -> None:
    for index, line in iterate_lines(text, _MAX_OBJECT):
        if not line.strip():
            continue
        found = _parse_line_object(line)
        outcome = STATUSES.get(str(found.get("status", "")).lower())
        if outcome is None or not found.get("check"):
            reading.skip(index, 'no object with "check" and a known "status"')
            continue
        texts = {key: value for key, value in found.items() if isinstance(value, str)}
        detail = texts.get("detail") or texts.get("message", "")
        named = _CATEGORIES.get(texts.get("category", ""))
        reading.add(
            check_name("host", str(found["check"])), outcome, texts.get("part"), detail,
            named or find_category(f"{found['check']} {detail}"), index,
            node=texts.get("node", "")[:256] or None, at=parse_zoned_time(texts.get("at", "")),
        )  # fmt: skip


def begins_host_plain(head: str) -> bool:
    """Every line is a name and a status, at least two, and not all as programs print errors."""
    lines = [line for line in head.split("\n", _FIRST_LINES)[:_FIRST_LINES] if line.strip()]
    if len(head) > _CUT_CHARS and len(lines) < _FIRST_LINES:
        lines = lines[:-1]  # the last one may be cut
    statuses = set()
    for line in lines:
        found = _match_plain(line)
        if found is None:
            return False
        statuses.add(found[2].lower())
    return len(lines) > 1 and bool(statuses - _SEVERITIES)


def _match_plain(line: str) -> re.Match[str] | None:
    found = _PLAIN.match(line.strip())
    return None if found is None or len(found[1].split()) > _MAX_WORDS else found


def read_host_plain(text: str, reading: Reading) -> None:
    for index, line in iterate_lines(text):
        found = _match_plain(line)
        if found is not None:
            check, category = check_name("host", found[1]), find_category(f"{found[1]} {found[3]}")
            reading.add(check, STATUSES[found[2].lower()], None, found[3], category, index)
        elif line.strip():
            reading.skip(index, "no name and status of a check")
