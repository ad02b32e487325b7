"""The event log of a management controller as a check of its node.

In an incident's folder such a list is read as a log, dated beside the others. Sent as a check,
each event that a part of the machine had is a result of that part, at the time that it prints:
one that ended passes, one that is more than a day older than the newest row is history. The
rows are read by the same signatures. A time without a zone counts as UTC here: the time of the
request would make every old event a new one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from triage.domain.category import Category
from triage.domain.evidence import EvidenceRole
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.json_report import is_whole
from triage.formats.health.reading import Reading
from triage.formats.logs.documents import DocumentFormat
from triage.formats.logs.json_document import JSON_DOCUMENT, is_of_machines
from triage.formats.logs.sel_list import SEL_LIST, SEL_VERBOSE, is_sel_row, says_its_state
from triage.signatures.host.ipmi_sel import SIGNATURES, placed
from triage.signatures.signature import Reading as LineReading
from triage.signatures.signature import Signature

__all__ = ["EVENT_LOG"]

CHECK: Final = "bmc.event"
OLD: Final = timedelta(days=1)
# A controller keeps some thousand; of a longer list the last ones.
MOST_ROWS: Final = 20_000
OFFSET: Final = re.compile(r"[+-]\d\d:?\d\d\b")


@dataclass(frozen=True, slots=True)
class Event:
    """One row that a signature knows; ``at`` is None where it has no date."""

    signature: Signature
    meaning: LineReading
    part: str
    words: str
    at: datetime | None
    line: int

    @property
    def ended(self) -> bool:
        """Whether it says that something is over."""
        return self.meaning.fields.get("cleared") == "yes"

    @property
    def fails(self) -> bool:
        """Whether it accuses its part."""
        role = self.meaning.role or self.signature.role
        return role is EvidenceRole.ROOT and not self.meaning.weak

    @property
    def is_noise(self) -> bool:
        """Whether it only follows from something else, or is harmless."""
        return (self.meaning.role or self.signature.role) is EvidenceRole.NOISE


def document_of(text: str) -> tuple[DocumentFormat, int] | None:
    """The form of an event log, and where it begins; None for any other text."""
    if SEL_VERBOSE.begins(text):
        return SEL_VERBOSE, 0
    if text.lstrip("\ufeff \t\n")[:1] in ("{", "["):
        lead = len(text) - len(text.lstrip("\ufeff \t\n"))
        of_machines = is_of_machines(text) and '"MessageId"' in text
        return (JSON_DOCUMENT, lead) if of_machines else None
    offset = 0
    for line in text.split("\n"):
        if is_sel_row(line):
            return (SEL_LIST, offset) if says_its_state(text) else None
        offset += len(line) + 1
    return None


def claimed(head: str) -> bool:
    return document_of(head) is not None


def read(text: str, reading: Reading) -> None:
    found = document_of(text)
    if found is None:
        return
    document, start = found
    rows = list(rows_in(document, text, start))
    events = [event for line, row in rows[-MOST_ROWS:] if (event := event_of(row, line))]
    times = [at for _, row in rows if (at := time_of(placed(row).get("time", "")))]
    newest = max(times, default=None)
    last: dict[tuple[str, str], Event] = {}
    counts: dict[tuple[str, str], int] = {}
    for event in events:
        key = event.part, event.words
        counts[key] = counts.get(key, 0) + 1
        known = last.get(key)
        if known is None or known.at is None or event.at is None or event.at >= known.at:
            last[key] = event
    told = [tell(event, counts[key], newest, reading) for key, event in last.items()]
    cut = document is JSON_DOCUMENT and not is_whole(text[start:])
    if cut and reading.is_good | (not any(told)):
        reading.unknown(CHECK, "the document breaks off")
    elif not any(told):
        said = f"no event of a part in {len(rows)} rows"
        reading.add(CHECK, Outcome.PASS, detail=said, at=newest, line=1)


def rows_in(document: DocumentFormat, text: str, start: int) -> Iterator[tuple[int, str]]:
    """(line, row) of each row with bars."""
    line, counted = text.count("\n", 0, start) + 1, start
    for offset, row in document.records(text[start:]):
        line += text.count("\n", counted, start + offset)
        counted = start + offset
        if "|" in row:
            yield line, row


def event_of(row: str, line: int) -> Event | None:
    """What the signatures make of a row; None where it is none of theirs."""
    lower = row.lower()
    for signature in SIGNATURES:
        if not any(word in lower for word in signature.literals):
            continue
        match = signature.pattern.search(row)
        if match is None:
            continue
        said = LineReading() if signature.read is None else signature.read(match, ())
        if said is None:
            continue
        cells = [cell.strip() for cell in row.split("|")]
        part = said.fields.get("gpu_module") or cells[3] if len(cells) > 3 else ""
        if said.fields.get("gpu_module"):
            part = f"GPU_SXM_{part}"
        words = cells[4] if len(cells) > 4 else row
        at = time_of(said.fields.get("time") or placed(row).get("time", ""))
        return Event(signature, said, part or signature.id, words, at, line)
    return None


def time_of(text: str) -> datetime | None:
    """``2026-03-14 02:39:11 UTC``; a zone that is a name counts as UTC."""
    offset = OFFSET.search(text[19:])
    try:
        if offset is not None:
            return datetime.fromisoformat(f"{text[:19]}{offset[0]}").astimezone(UTC)
        return datetime.fromisoformat(text[:19]).replace(tzinfo=UTC) if text else None
    except (ValueError, OverflowError):
        return None


def tell(event: Event, count: int, newest: datetime | None, reading: Reading) -> bool:
    """The result of one event; whether there is one."""
    if event.is_noise and not event.ended:
        return False
    outcome = Outcome.FAIL if event.fails else Outcome.WARN
    said = event.words
    if event.ended:
        outcome, said = Outcome.PASS, f"{said}: ended"
    elif event.at is None:
        outcome, said = Outcome.WARN, f"{said}: without a date"
    elif newest is not None and newest - event.at > OLD:
        outcome, said = Outcome.WARN, f"{said}: {(newest - event.at).days} days before the newest"
    if count > 1:
        said = f"{said}, {count} times"
    reading.add(
        CHECK,
        outcome,
        part=event.part,
        detail=said,
        category=event.meaning.category or event.signature.category or Category.CHASSIS,
        at=event.at,
        line=event.line,
    )
    return True


EVENT_LOG: Final = CheckFormat(
    "bmc_event_log",
    claimed,
    read,
    lines=False,
    cut_as=CHECK,
    words=("Event Direction", '"MessageId"', "Asserted"),
)
