"""Health checks of Meta's GCM: one line a check, and its records in JSON.

::

    CRITICAL - nvidia smi row_remap_failed. row_remap_failed check: ... GPU 3 ...
    {"node": "n3", "health_check": "check dcgmi diag", "type": "prolog", "result": 2, "_msg": "..."}

The results are those of Nagios: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN. Checks that did not end
say so in place of a name. Times of records are seconds since the epoch.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.json_report import documents_of, items_of, text_in
from triage.formats.health.reading import Reading, check_name, lines_of
from triage.formats.health.suites.node_health_check import complaint_in_words

__all__ = ["GCM", "GCM_RECORDS"]

STATUSES: Final = {
    "OK": Outcome.PASS, "WARNING": Outcome.WARN, "CRITICAL": Outcome.FAIL,
    "UNKNOWN": Outcome.SKIPPED,
}  # fmt: skip
RESULTS: Final = (Outcome.PASS, Outcome.WARN, Outcome.FAIL, Outcome.SKIPPED)
# Names of its checks: many begin with "check", and the others are few.
NAMES: Final = (
    r"check [a-z][\w ]{2,40}?|nvidia smi(?: [a-z]\w{1,40})?|nccl-tests|cuda memtest|link flaps"
    r"|xid errors|io errors|hca count|ipmitool sel|processor frequency|frequency governor"
    r"|disk usage|disk size|slurm state|service status|mounted directory|running process"
)
LINE: Final = re.compile(rf"(OK|WARNING|CRITICAL|UNKNOWN) - ({NAMES})(?:\. (.{{0,600}}))?$")
NO_END: Final = "WARNING - check did not exit normally"
RECORD: Final = re.compile(r'"health_check"\s{0,4}:\s{0,4}"')


def claimed(head: str) -> bool:
    first = next((line.strip() for line in head.lstrip("\ufeff").split("\n") if line.strip()), "")
    return LINE.match(first) is not None or first == NO_END


def read(text: str, reading: Reading) -> None:
    for index, line in lines_of(text):
        if line.strip() == NO_END:
            reading.saw(index)
            reading.unknown("gcm.run", "a check did not exit normally", line=index)
        elif (found := LINE.match(line.strip())) is not None:
            reading.saw(index)
            add(found[2], STATUSES[found[1]], found[3] or "", None, None, index, reading)
    if reading.results and {one.outcome for one in reading.results} == {Outcome.SKIPPED}:
        reading.skip(1, "no check has a result")


def add(
    check: str,
    outcome: Outcome,
    wording: str,
    node: str | None,
    at: datetime | None,
    line: int,
    reading: Reading,
) -> None:
    bad = outcome in (Outcome.FAIL, Outcome.WARN)
    complaint = complaint_in_words(f"{check} {wording}") if bad else None
    reading.add(
        check_name("gcm", check.removeprefix("check ")), outcome,
        part=complaint.gpu if complaint else None, detail=wording,
        category=complaint.category if complaint else None, node=node, at=at, line=line,
    )  # fmt: skip


def claimed_records(head: str) -> bool:
    begins = head.lstrip("\ufeff \t\r\n").startswith(("{", "["))
    return begins and RECORD.search(head) is not None and '"result"' in head


def read_records(text: str, reading: Reading) -> None:
    for document in documents_of(text, reading):
        for record in records_in(document):
            check, result = text_in(record, "health_check"), record.get("result")
            known = isinstance(result, int) and not isinstance(result, bool) and 0 <= result <= 3
            if not check or not known:
                reading.skip(1, 'no record with "health_check" and a known "result"')
                continue
            add(
                check, RESULTS[int(str(result))], text_in(record, "_msg", "msg"),
                text_in(record, "node")[:256] or None, time_of(record.get("end_time")), 1, reading,
            )  # fmt: skip


def records_in(document: object) -> list[Mapping[str, Any]]:
    """The records of a document; some sinks wrap them into ``message`` or ``normal``."""
    found = []
    for entry in items_of(document):
        inner = entry.get("message", entry)
        if isinstance(inner, str):
            try:
                inner = json.loads(inner)
            except (ValueError, RecursionError):
                continue
        found += [one for one in items_of(inner) if "health_check" in one]
    return found


def time_of(value: object) -> datetime | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1e9 < value < 4e9:
        return None
    return datetime.fromtimestamp(value, UTC)


GCM: Final = CheckFormat(
    "gcm", claimed, read, words=("OK - ", "WARNING - ", "CRITICAL - ", "UNKNOWN - ")
)
GCM_RECORDS: Final = CheckFormat(
    "gcm_records", claimed_records, read_records, lines=False, words=('"health_check"',)
)
