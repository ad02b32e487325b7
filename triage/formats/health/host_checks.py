"""Host checks of one's own: JSON lines, or ``name: STATUS`` line by line.

JSON lines, one check a line (``detail``, ``part``, ``category`` and ``at`` may be left out)::

    {"node": "n3", "check": "pcie_width", "status": "fail", "detail": "x8 of x16"}

Plain, one check a line, in a file of one node::

    pcie_width: FAIL x8 of x16
    dmesg: OK
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.part_words import category_in
from triage.formats.health.reading import Reading, check_name, lines_of

__all__ = ["HOST_JSON", "HOST_PLAIN", "STATUSES"]

STATUSES: Final = {
    "ok": Outcome.PASS, "pass": Outcome.PASS, "passed": Outcome.PASS, "healthy": Outcome.PASS,
    "success": Outcome.PASS, "fail": Outcome.FAIL, "failed": Outcome.FAIL,
    "critical": Outcome.FAIL, "error": Outcome.FAIL, "warn": Outcome.WARN,
    "warning": Outcome.WARN, "unhealthy": Outcome.WARN, "degraded": Outcome.WARN,
    "skip": Outcome.SKIPPED, "skipped": Outcome.SKIPPED, "unknown": Outcome.SKIPPED,
    "incomplete": Outcome.SKIPPED,
}  # fmt: skip
CATEGORIES: Final = {str(one): one for one in Category}
WORDS: Final = "|".join(STATUSES)
# "pcie_width: FAIL x8 of x16"
PLAIN: Final = re.compile(
    rf"([A-Za-z][\w./ -]{{1,60}}?)\s*[:=]\s*({WORDS})\b[\s:,-]*(.{{0,300}})$", re.I
)
# "srun: error: ...", "train.py: warning: ...": a program's name and how grave it is.
SEVERITIES: Final = frozenset({"error", "warn", "warning", "critical", "unknown"})
MAX_OBJECT: Final = 64 << 10
MAX_WORDS: Final = 6
FIRST_LINES: Final = 40
# The beginning of a file that is longer than what was looked at.
CUT_CHARS: Final = 4000


def claimed_json(head: str) -> bool:
    first = next((line for line in head.split("\n") if line.strip()), "")
    if not first.lstrip().startswith("{") or '"check"' not in first or '"status"' not in first:
        return False
    found = one_object(first)
    return found is not None and str(found.get("status", "")).lower() in STATUSES


def one_object(line: str) -> Mapping[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, Mapping) else None


def read_json(text: str, reading: Reading) -> None:
    for index, line in lines_of(text, MAX_OBJECT):
        if not line.strip():
            continue
        found = one_object(line)
        outcome = STATUSES.get(str(found.get("status", "")).lower()) if found else None
        if found is None or outcome is None or not found.get("check"):
            reading.skip(index, 'no object with "check" and a known "status"')
            continue
        detail = text_of(found, "detail") or text_of(found, "message")
        reading.add(
            check_name("host", str(found["check"])),
            outcome,
            node=text_of(found, "node")[:256] or None,
            part=text_of(found, "part") or None,
            detail=detail,
            category=CATEGORIES.get(text_of(found, "category"))
            or category_in(f"{found['check']} {detail}"),
            at=moment(text_of(found, "at")),
            line=index,
        )


def text_of(found: Mapping[str, Any], key: str) -> str:
    value = found.get(key)
    return value if isinstance(value, str) else ""


def moment(text: str) -> datetime | None:
    """An RFC 3339 time; None for one without a zone, which cannot be placed."""
    try:
        found = datetime.fromisoformat(text.strip())
        return None if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def claimed_plain(head: str) -> bool:
    """Every line is a name and a status, at least two, and not all as programs print errors."""
    lines = [line for line in head.split("\n", FIRST_LINES)[:FIRST_LINES] if line.strip()]
    if len(head) > CUT_CHARS and len(lines) < FIRST_LINES:
        lines = lines[:-1]  # the last one may be cut
    statuses = set()
    for line in lines:
        found = plain(line)
        if found is None:
            return False
        statuses.add(found[2].lower())
    return len(lines) > 1 and bool(statuses - SEVERITIES)


def plain(line: str) -> re.Match[str] | None:
    found = PLAIN.match(line.strip())
    return None if found is None or len(found[1].split()) > MAX_WORDS else found


def read_plain(text: str, reading: Reading) -> None:
    for index, line in lines_of(text):
        if not line.strip():
            continue
        found = plain(line)
        if found is None:
            reading.skip(index, "no name and status of a check")
            continue
        reading.add(
            check_name("host", found[1]),
            STATUSES[found[2].lower()],
            detail=found[3],
            category=category_in(f"{found[1]} {found[3]}"),
            line=index,
        )


HOST_JSON: Final = CheckFormat("host_checks_json", claimed_json, read_json, words=('"check"',))
HOST_PLAIN: Final = CheckFormat("host_checks", claimed_plain, read_plain)
