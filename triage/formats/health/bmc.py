"""What a management controller says: ``ipmitool sensor``, ``sdr`` and ``chassis status``, Redfish.

A baseboard counts its GPUs from 1 (``GPU_SXM_6``): that is no index of nvidia-smi.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from triage.domain.category import Category
from triage.domain.evidence import EvidenceRole
from triage.domain.health import Outcome
from triage.domain.patterns import compile_re
from triage.formats.health.complaints import Words
from triage.formats.health.reading import (
    BAD,
    FAIL,
    PASS,
    WARN,
    Reading,
    find_text,
    is_whole,
    iterate_documents,
    iterate_lines,
)
from triage.formats.health.rows import Block
from triage.formats.health.table import load_data
from triage.formats.logs.documents import DocumentFormat
from triage.formats.logs.json_document import JSON_DOCUMENT, is_of_machines
from triage.formats.logs.sel_list import SEL_LIST, SEL_VERBOSE, has_event_state, is_sel_row
from triage.signatures.host.ipmi_sel import find_place
from triage.signatures.load import load
from triage.signatures.signature import Reading as LineReading
from triage.signatures.signature import Signature

# ipmitool sensor, sdr, sdr elist. "cr" and "nr" are limits that are passed now, and fail; "nc"
# warns. "na" and "ns" are sensors that were not read: they are no zero. The state of a discrete
# sensor is words in elist; in sensor it is a mask, which is read of power supplies alone.

_DATA: Final = load_data(__name__)
_SENSOR: Final = "bmc.sensor"
_STATE: Final = r"(?:ok|ns|na|nc|cr|nr|us|[lu](?:nc|cr|nr)|0x[0-9a-fA-F]{4})"
_FORMS: Final = (
    compile_re(
        r"(?P<name>[^|\n]{1,40}?)\s*\|\s*(?P<reading>[^|\n]{1,24}?)\s*\|\s*(?P<unit>[^|\n]{0,24}?)\s*"
        rf"\|\s*(?P<state>{_STATE})\s*\|(?P<limits>(?:[^|\n]{{1,16}}\|){{5}}[^|\n]{{0,16}})$"
    ),
    compile_re(
        rf"(?P<name>[^|\n]{{1,40}}?)\s*\|\s*[0-9A-Fa-f]{{2}}h\s*\|\s*(?P<state>{_STATE})\s*"
        r"\|\s*\d{1,3}\.\d{1,3}\s*\|(?P<reading>[^|\n]{0,160})$"
    ),
    compile_re(
        r"(?P<name>[^|\n]{1,40}?)\s*\|\s*(?P<reading>[^|\n]{1,60}?)\s*\|"
        rf"\s*(?P<state>{_STATE})\s*$"
    ),
)
_LIMITS: Final = {
    **dict.fromkeys(("cr", "nr", "lcr", "ucr", "lnr", "unr"), (FAIL, "critical")),
    **dict.fromkeys(("nc", "lnc", "unc"), (WARN, "first")),
}
_NOT_READ: Final = frozenset({"ns", "na", "us"})
# IPMI 2.0, table 42-3: events of discrete sensors, in words.
_BAD_WORDS: Final = compile_re(
    r"failure detected|ac lost|input lost|uncorrectable|ierr\b|thermal trip|machine check"
    r"|drive fault|bus fatal|failed array|config(?:uration)? error|redundancy lost"
    r"|transition to (?:critical|non-recoverable)|predictive failure asserted", re.I
)  # fmt: skip
_NEAR_WORDS: Final = compile_re(
    r"predictive failure|redundancy degraded|non-redundant|throttled|correctable|intrusion", re.I
)
_LEAST_ROWS: Final = 2
_LOOKED_AT: Final = 60
# PSU1_Status, "PS2 Status": the lower half of the mask has presence, failure, predicted, AC lost
_SUPPLY: Final = compile_re(r"(?:ps|psu|power ?supply)[ _-]?\d{0,2}[ _-]?(?:stat\w{0,4})", re.I)
_PRESENT, _FAILED, _PREDICTED, _NO_INPUT = 0x01, 0x02, 0x04, 0x08
# The part that a sensor's name means: a GPU's heat, a power supply, a fan ...
_SENSORS: Final = Words(_DATA["of_sensor"])
_MEASURED: Final = compile_re(
    r"degrees|volts|amps|watts|rpm|percent|discrete|presence|fully redundant|unspecified"
    r"|no reading", re.I | re.A
)  # fmt: skip


def _match_row(line: str) -> re.Match[str] | None:
    if line.count("|") < 2:
        return None
    return next((found for form in _FORMS if (found := form.match(line)) is not None), None)


def begins_sensors(head: str) -> bool:
    """Rows of sensors, and hardly anything else; an event list has numbers and dates in front."""
    if " |" not in head and "| " not in head:
        return False
    lines = [line for line in head.split("\n")[:_LOOKED_AT] if "|" in line]
    if len(head) > 4000 and len(lines) < _LOOKED_AT:
        lines = lines[:-1]
    rows = [row for row in map(_match_row, lines) if row is not None]
    if len(rows) < max(_LEAST_ROWS, 0.8 * len(lines)):
        return False
    return any(_MEASURED.search(row[0]) for row in rows)


def read_sensors(text: str, reading: Reading) -> None:
    whole, last = text.endswith("\n"), text.count("\n") + 1
    for index, line in iterate_lines(text):
        if "|" not in line:
            continue
        reading.saw(index)
        row = _match_row(line)
        if row is not None:
            _judge_sensor(row, index, reading)
        elif index == last and not whole:
            name = line.partition("|")[0].strip()[:60]
            reading.unknown(_SENSOR, "its row breaks off", name, index)
        else:
            reading.skip(index, "no row of a sensor")


def _judge_sensor(row: re.Match[str], index: int, reading: Reading) -> None:
    name, state, value = row["name"].strip(), row["state"].lower(), row["reading"].strip()
    measured = f"{value} {row.groupdict().get('unit') or ''}"
    outcome: Outcome | None
    if state in _NOT_READ:
        return
    if state.startswith("0x"):
        outcome, said = _judge_mask(name, int(state, 16))
    elif state in _LIMITS:
        outcome, limit = _LIMITS[state]
        said = f"{measured}, beyond a {limit} limit ({state})"
    elif _BAD_WORDS.search(value):
        outcome, said = FAIL, value
    elif _NEAR_WORDS.search(value):
        outcome, said = WARN, value
    else:
        outcome, said = PASS, measured
    if outcome is not None:
        reading.add(_SENSOR, outcome, name, said, _SENSORS.category_in(name), index)


def _judge_mask(name: str, mask: int) -> tuple[Outcome | None, str]:
    """What a discrete mask says: of a power supply that is there; of others nobody knows."""
    bits = mask >> 8
    if _SUPPLY.search(name) is None or not bits & _PRESENT:
        return None, ""
    lost = [word for bit, word in ((_FAILED, "failure detected"), (_NO_INPUT, "input lost"))
            if bits & bit]  # fmt: skip
    if lost:
        return FAIL, f"{' and '.join(lost)} ({mask:#06x})"
    if bits & _PREDICTED:
        return WARN, f"predictive failure ({mask:#06x})"
    return PASS, f"present ({mask:#06x})"


# ipmitool chassis status

_CHASSIS: Final = "bmc.chassis"
_FAULTS: Final = {name: Category(word) for name, word in _DATA["chassis_faults"].items()}
_LAST_EVENTS: Final = frozenset({"ac-failed", "overload", "interlock", "fault"})


def judge_chassis(blocks: Sequence[Block], reading: Reading) -> None:
    """The fields of ``ipmitool chassis status``, each a block."""
    for one in blocks:
        name, value = one.get("name").lower(), one.get("value").lower()
        off = name == "system power" and value != "on"
        if name in _FAULTS and value in ("true", "false"):
            outcome = FAIL if value == "true" else PASS
            reading.add(_CHASSIS, outcome, name, value, _FAULTS[name], one.line)
        elif off or (name == "last power event" and value in _LAST_EVENTS):
            reading.add(_CHASSIS, WARN, name, value, Category.POWER, one.line)
    seen = {one.get("name").lower() for one in blocks}
    missing = [name for name in _FAULTS if name not in seen]
    if missing:
        reading.unknown(_CHASSIS, f"breaks off before {missing[0]!r}")


# Resources by Redfish: Thermal, Power, Sensor and others. Status.Health of each part decides;
# without it a reading beyond its critical limit. A part that is absent or switched off is
# not judged, and neither is the sum over parts (``HealthRollup``). Entries of event logs are read
# as logs, by their time.

_REDFISH: Final = "bmc.redfish"
_HEALTH: Final = {"OK": PASS, "Warning": WARN, "Critical": FAIL}
_NOT_THERE: Final = frozenset(
    {
        "Absent", "Disabled", "StandbyOffline", "InTest", "Qualified", "UnavailableOffline",
        "Deferring",
    }
)  # fmt: skip
_READINGS: Final = ("ReadingCelsius", "ReadingVolts", "Reading", "ReadingRPM")
_NOT_WITHIN: Final = frozenset({"Status", "Links", "Oem", "Thresholds"})
_MAX_DEPTH: Final = 12
_MAX_PARTS: Final = 20_000
_PARTS: Final = Words(_DATA["of_part"])
_OF_SENSOR: Final = compile_re(r"temp|volt|power|current|fan|rpm|pump|leak", re.I)


def read_redfish(text: str, reading: Reading) -> None:
    seen = 0
    for document in iterate_documents(text, reading):
        for part, sort in _iterate_parts(document, _MAX_DEPTH):
            seen += 1
            if seen > _MAX_PARTS:
                reading.skip(None, f"more than {_MAX_PARTS:,} parts")
                return
            _judge_part(part, sort, reading)
    if not reading.results:
        reading.unknown(_REDFISH, "no part in it says its state")
    elif reading.num_not_understood and not any(one.outcome in BAD for one in reading.results):
        reading.unknown(_REDFISH, "the document breaks off")


def _iterate_parts(value: object, depth: int) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Each object with a state or a reading, and the word for its sort."""
    if depth == 0:
        return
    if isinstance(value, list):
        for one in value:
            yield from _iterate_parts(one, depth - 1)
    elif isinstance(value, Mapping):
        if isinstance(value.get("Status"), Mapping) or any(name in value for name in _READINGS):
            yield value, find_text(value, "@odata.type", "@odata.id")
        for name, one in value.items():
            if isinstance(one, Mapping | list) and name not in _NOT_WITHIN:
                yield from _iterate_parts(one, depth - 1)


def _judge_part(part: Mapping[str, Any], sort: str, reading: Reading) -> None:
    status = part.get("Status")
    status = status if isinstance(status, Mapping) else {}
    if find_text(status, "State") in _NOT_THERE:
        return
    name = find_text(part, "Name", "Id", "MemberId") or sort.rpartition("/")[2]
    health = find_text(status, "Health")
    measured, beyond = _describe_sensor(part)
    outcome = _HEALTH.get(health)
    said = [f"health {health}" if outcome is not None else "", measured]
    outcome = beyond if outcome is None else outcome
    conditions = status.get("Conditions")
    if isinstance(conditions, list):
        said += [find_text(one, "Message") for one in conditions[:2] if isinstance(one, Mapping)]
    if outcome is None:
        return
    # The part by its name first: a GPU's temperature is the GPU's.
    category = None
    if _OF_SENSOR.search(name) is None:
        where = f"{sort} {find_text(part, '@odata.id')}"
        category = _PARTS.category_in(name) or _PARTS.category_in(where)
    detail = ", ".join(word for word in said if word)
    reading.add(_REDFISH, outcome, name, detail, category or _SENSORS.category_in(name))


def _describe_sensor(part: Mapping[str, Any]) -> tuple[str, Outcome | None]:
    """A reading in words, and how it stands to its critical limits; None where it has none."""
    value = next((part[name] for name in _READINGS if _is_number(part.get(name))), None)
    if value is None:
        return "", None
    said = f"{value:g} {find_text(part, 'ReadingUnits')}".strip()
    limits = part.get("Thresholds")
    limits = limits if isinstance(limits, Mapping) else {}

    def limits_of(side: str) -> list[Any]:
        inner = [limits.get(f"{side}{grade}") for grade in ("Critical", "Fatal")]
        found = [part.get(f"{side}Threshold{grade}") for grade in ("Critical", "Fatal")]
        found += [one.get("Reading") for one in inner if isinstance(one, Mapping)]
        return [one for one in found if _is_number(one)]

    above, below = limits_of("Upper"), limits_of("Lower")
    if any(value >= limit for limit in above):
        return f"{said}, beyond its critical limit", FAIL
    if any(value <= limit for limit in below):
        return f"{said}, below its critical limit", FAIL
    return said, PASS if above or below else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# The event log as a check of its node. In an incident's folder such a list is read as a log, dated
# beside the others. Sent as a check, each event that a part of the machine had is a result of that
# part, at the time that it prints: one that ended passes, one that is more than a day older than
# the newest row is history. The rows are read by the same signatures. A time without a zone counts
# as UTC here: the time of the request would make every old event a new one.

_EVENT: Final = "bmc.event"
_OLD: Final = timedelta(days=1)
# A controller keeps some thousand; of a longer list the last ones.
_MOST_ROWS: Final = 20_000
_OFFSET: Final = compile_re(r"[+-]\d\d:?\d\d\b")


@dataclass(frozen=True, slots=True)
class Event:
    """One row that a signature knows; ``at`` is None where it has no date."""

    signature: Signature
    meaning: LineReading
    part: str
    words: str
    at: datetime | None
    line: int


def _find_document(text: str) -> tuple[DocumentFormat, int] | None:
    """The form of an event log, and where it begins; None for any other text."""
    if SEL_VERBOSE.begins(text):
        return SEL_VERBOSE, 0
    lead = len(text) - len(text.lstrip("\ufeff \t\n"))
    if text[lead : lead + 1] in ("{", "["):
        of_machines = is_of_machines(text) and '"MessageId"' in text
        return (JSON_DOCUMENT, lead) if of_machines else None
    offset = 0
    for line in text.split("\n"):
        if is_sel_row(line):
            return (SEL_LIST, offset) if has_event_state(text) else None
        offset += len(line) + 1
    return None


def begins_events(head: str) -> bool:
    return _find_document(head) is not None


def read_events(text: str, reading: Reading) -> None:
    found = _find_document(text)
    if found is None:
        return
    document, start = found
    rows = list(_iterate_rows(document, text, start))
    events = [event for line, row in rows[-_MOST_ROWS:] if (event := _judge_event(row, line))]
    times = [at for _, row in rows if (at := _parse_event_time(find_place(row).get("time", "")))]
    newest = max(times, default=None)
    last: dict[tuple[str, str], Event] = {}
    counts: dict[tuple[str, str], int] = {}
    for event in events:
        key = event.part, event.words
        counts[key] = counts.get(key, 0) + 1
        known = last.get(key)
        if known is None or known.at is None or event.at is None or event.at >= known.at:
            last[key] = event
    told = [_tell_event(event, counts[key], newest, reading) for key, event in last.items()]
    cut = document is JSON_DOCUMENT and not is_whole(text[start:])
    if cut and (reading.is_good or not any(told)):
        reading.unknown(_EVENT, "the document breaks off")
    elif not any(told):
        said = f"no event of a part in {len(rows)} rows"
        reading.add(_EVENT, PASS, None, said, line=1, at=newest)


def _iterate_rows(document: DocumentFormat, text: str, start: int) -> Iterator[tuple[int, str]]:
    """(line, row) of each row with bars."""
    line, counted = text.count("\n", 0, start) + 1, start
    for offset, row in document.records(text[start:]):
        line += text.count("\n", counted, start + offset)
        counted = start + offset
        if "|" in row:
            yield line, row


def _judge_event(row: str, line: int) -> Event | None:
    """What the signatures make of a row; None where it is none of theirs."""
    lower = row.lower()
    for signature in load("host/ipmi_sel"):
        if not any(word in lower for word in signature.literals):
            continue
        match = signature.pattern.search(row)
        said = LineReading() if signature.read is None else match and signature.read(match, ())
        if match is None or said is None:
            continue
        cells = [cell.strip() for cell in row.split("|")]
        module = said.fields.get("gpu_module")
        part = f"GPU_SXM_{module}" if module else cells[3] if len(cells) > 3 else ""
        words = cells[4] if len(cells) > 4 else row
        at = _parse_event_time(said.fields.get("time") or find_place(row).get("time", ""))
        return Event(signature, said, part or signature.id, words, at, line)
    return None


def _parse_event_time(text: str) -> datetime | None:
    """``2026-03-14 02:39:11 UTC``; a zone that is a name counts as UTC."""
    offset = _OFFSET.search(text[19:])
    try:
        if offset is not None:
            return datetime.fromisoformat(f"{text[:19]}{offset[0]}").astimezone(UTC)
        return datetime.fromisoformat(text[:19]).replace(tzinfo=UTC) if text else None
    except (ValueError, OverflowError):
        return None


def _tell_event(event: Event, count: int, newest: datetime | None, reading: Reading) -> bool:
    """The result of one event; whether there is one."""
    role = event.meaning.role or event.signature.role
    ended = event.meaning.fields.get("cleared") == "yes"
    if role is EvidenceRole.NOISE and not ended:
        return False
    outcome, said = WARN, event.words
    if ended:
        outcome, said = PASS, f"{said}: ended"
    elif event.at is None:
        said = f"{said}: without a date"
    elif newest is not None and newest - event.at > _OLD:
        said = f"{said}: {(newest - event.at).days} days before the newest"
    elif role is EvidenceRole.ROOT and not event.meaning.weak:
        outcome = FAIL
    said = f"{said}, {count} times" if count > 1 else said
    category = event.meaning.category or event.signature.category or Category.CHASSIS
    reading.add(_EVENT, outcome, event.part, said, category, event.line, at=event.at)
    return True
