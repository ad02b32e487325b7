"""Drives: ``nvme`` (``smart-log``, ``error-log``, ``list``) and ``smartctl``, as text and as JSON.

A drive's own verdict decides, and an attribute that fails now. Media errors, wear and self-tests
that failed once are totals of its whole life: they advise a look, and accuse nobody.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from triage.domain.category import Category
from triage.domain.patterns import compile_re
from triage.formats.health.reading import (
    FAIL,
    PASS,
    WARN,
    Reading,
    find_text,
    iterate_documents,
    iterate_items,
    iterate_lines,
)
from triage.formats.health.rows import Block
from triage.formats.health.table import load_data

_DATA: Final = load_data(__name__)
SMART: Final = "disk.smart"
_SSD: Final = Category.SSD
# "/dev/nvme3n1"; "smartctl_-a_.dev.nvme3n1" is how a sosreport names the file
_DEVICE: Final = compile_re(
    r"(?:/dev/|[._]dev[._])((?:nvme\d{1,4}(?:n\d{1,4})?|sd[a-z]{1,3}|sg\d{1,3}))"
)
_NUMBER: Final = compile_re(r"0x[0-9a-fA-F]{1,16}|\d[\d,.' \u00a0\u202f]{0,40}", re.ASCII)
# NVMe base specification, SMART / Health Information, byte 0.
_WARNINGS: Final[Sequence[str]] = _DATA["critical_warnings"]
_WORN: Final = 100
# The names of each value in the tools and their versions.
_NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    form: {name: field for field, names in table.items() for name in names}
    for form, table in _DATA["values"].items()
}


@dataclass(slots=True)
class Drive:
    """What a tool said of one drive; None where it said nothing.

    ``passed`` is the drive's own verdict, ``bad`` and ``advice`` are more that was found, in
    words. ``whole`` is whether the report came to its end.
    """

    name: str | None = None
    line: int = 1
    passed: bool | None = None
    warning: int | None = None
    spare: int | None = None
    spare_threshold: int | None = None
    used: int | None = None
    media_errors: int | None = None
    critical_minutes: int | None = None
    bad: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    whole: bool = True


def _find_device(text: str) -> str | None:
    """The drive that a command line or a file name asks for: ``nvme3n1``."""
    found = _DEVICE.search(text)
    return None if found is None else found[1]


def _count_in(text: object) -> int | None:
    """A count as tools print it: ``0x04``, ``14,892,104 (7.62 TB)``, ``101%``; None for none."""
    if isinstance(text, bool):
        return None
    if isinstance(text, int):
        return text
    if isinstance(text, float):
        return int(text) if abs(text) < 1e18 else None
    if isinstance(text, dict):  # nvme-cli -o json -v: {"value": 4, "available_spare": 0, ...}
        return _count_in(text.get("value"))
    found = _NUMBER.match(text.strip()) if isinstance(text, str) else None
    if found is None:
        return None
    if found[0].startswith("0x"):
        return int(found[0], 16)
    return int(re.sub(r"[^0-9]", "", found[0])[:24])


def _judge_drive(drive: Drive, reading: Reading) -> None:
    """The result of one drive: what it says of itself fails, what it counted advises."""
    bad, advice = [*drive.bad], [*drive.advice]
    if drive.warning:
        told = [word for bit, word in enumerate(_WARNINGS) if drive.warning >> bit & 1]
        bad.append(f"critical warning {drive.warning:#04x}: {', '.join(told) or 'reserved bits'}")
    if drive.passed is False:
        bad.append("the drive's own verdict is that it fails")
    if drive.spare is not None and drive.spare_threshold is not None:
        if drive.spare < drive.spare_threshold:
            bad.append(f"spare {drive.spare}% below {drive.spare_threshold}%")
        elif drive.spare == drive.spare_threshold:
            advice.append(f"spare {drive.spare}%, at its threshold")
    if drive.used is not None and drive.used >= _WORN:
        advice.append(f"{drive.used}% of its rated writes used")
    if drive.media_errors:
        advice.append(f"{drive.media_errors:,} media errors in its life")
    if drive.critical_minutes:
        advice.append(f"{drive.critical_minutes:,} min above its critical temperature")
    if not drive.whole and not bad:
        why = "; ".join([*advice, "the report of the drive breaks off"])
        reading.unknown(SMART, why, drive.name, drive.line)
        return
    outcome = FAIL if bad else WARN if advice else PASS
    said = "; ".join([*bad, *advice]) or "no warning of the drive"
    reading.add(SMART, outcome, drive.name, said, _SSD, drive.line)


# nvme smart-log: its JSON does not name the drive; the file's name may.

_HEADER: Final = compile_re(r"Smart Log for NVME device: ?(?:/dev/)?(?P<name>[\w-]{1,32})", re.I)
_VALUE: Final = compile_re(
    r"\s{0,8}(?P<name>[A-Za-z][\w -]{1,60}?)\s{0,40}: ?(?P<value>[^\n]{0,120})$"
)
# Behind the counters of media errors; every version prints it.
_LAST: Final = "num_err_log_entries"
_OTHERS: Final = ("temperature", "power", "data_units", "host_", "thermal", "warning")


def read_smart_log(text: str, reading: Reading) -> None:
    drive: Drive | None = None
    asked = _find_device(reading.artifact)
    for index, line in iterate_lines(text):
        header = _HEADER.search(line)
        found = _VALUE.match(line) if header is None else None
        name = "" if found is None else _make_key(found["name"])
        # A drive's report begins with its header, or without one with its warning.
        begun = name == "critical_warning" and (drive is None or drive.warning is not None)
        if header is not None or begun:
            if drive is not None:
                _judge_drive(drive, reading)
            drive = Drive(header["name"] if header is not None else asked, index, whole=False)
            asked = None
            reading.saw(index)
        elif drive is None or not name:
            asked = _find_device(line) or asked
        if drive is not None and found is not None and _put(drive, name, found["value"]):
            reading.saw(index)
    if drive is not None:
        _judge_drive(drive, reading)


def _make_key(name: str) -> str:
    return re.sub(r"[ -]+", "_", name.strip().lower())


def _put(drive: Drive, name: str, value: object) -> bool:
    """Take one value, known or not; whether it is one of a SMART log."""
    if name == _LAST and _count_in(value) is not None:
        drive.whole = drive.warning is not None and drive.media_errors is not None
        return True
    known = _NAMES["nvme"].get(name)
    if known is not None and getattr(drive, known) is None:
        setattr(drive, known, _count_in(value))
    return known is not None or name.startswith(_OTHERS)


def read_smart_log_json(text: str, reading: Reading) -> None:
    for document in iterate_documents(text, reading):
        if isinstance(document, Mapping) and "critical_warning" in document:
            drive = Drive(_find_device(reading.artifact), whole=False)
            for name, value in document.items():
                _put(drive, _make_key(str(name)), value)
            _judge_drive(drive, reading)


# nvme error-log: a log without dates; whatever stands in it may be years old.

_ERROR_LOG: Final = "disk.error_log"
_MEDIUM: Final = compile_re(
    r"unrecovered[ _]read|write[ _]fault|guard[ _]check|tag[ _]check|compare[ _]fail|deallocated"
    r"|unwritten|internal[ _](?:device )?error|data[ _](?:transfer )?error", re.I
)  # fmt: skip


def judge_error_logs(blocks: Sequence[Block], reading: Reading) -> None:
    for log in (one for one in blocks if one.level == 1):
        used = [one for one in [log, *log.inner] if int(one.get("count") or 0)]
        medium = [one.get("status") for one in used if _MEDIUM.search(one.get("status"))]
        listed, announced = len(log.inner), int(log.get("entries") or 0)
        name = log.get("name")
        if listed < announced and not medium:
            why = f"breaks off: {listed} of {announced} entries"
            reading.unknown(_ERROR_LOG, why, name, log.line)
            continue
        said = f"{len(used)} entries, none of the medium"
        if medium:
            said = f"{len(medium)} errors of the medium: {medium[0]}"
        reading.add(_ERROR_LOG, WARN if medium else PASS, name, said, _SSD, log.line)


# smartctl -H, -a, -x: a drive that is listed and does not answer fails; one that is not there, or
# may not be read, is unknown.

# "Smartctl open device: /dev/sdb failed: No such device", "Read Device Identity failed: ..."
_CLOSED: Final = compile_re(
    r"(?:(?P<opened>Smartctl open device: (?P<path>\S{1,80})) failed"
    r"|Read (?:Device Identity|NVMe Identify Controller|SMART Data|NVMe SMART/Health Information)"
    r" failed|Standard Inquiry .{0,40}failed|INQUIRY failed)[:,]? ?(?P<why>[^\n]{0,160})"
)
# What an operator or the bus says of a drive that it knows and that is silent.
_SILENT: Final = compile_re(
    r"input/output error|timed? ?out|resource temporarily unavailable|connection timed|scsi error"
    r"|no sense|medium or hardware error|not ready|NVMe Status", re.I
)  # fmt: skip
_REFUSED: Final = compile_re(r"permission|operation not (?:permitted|supported)|access", re.I)
# Attributes whose count above 0 says that sectors or the link were bad at some time.
_COUNTED: Final = {int(number): words for number, words in _DATA["counted"].items()}


def judge_smartctl(blocks: Sequence[Block], reading: Reading) -> None:
    """One report behind the other, each of one drive; what a script asks for stands above it."""
    asked = _find_device(reading.artifact)
    for report in (one for one in blocks if one.level == 1):
        asked = report.get("asked") or asked
        _judge_report(report, asked, reading)


def _judge_report(report: Block, asked: str | None, reading: Reading) -> None:
    found: dict[str, str] = {}
    for one in (report, *report.inner):
        found.update({name: values[-1] for name, values in one.values.items()})
    serial = f"serial {found['serial']}" if "serial" in found else None
    drive = Drive(asked or serial, report.line)
    if (closed := _CLOSED.search(found.get("closed", ""))) is not None:
        _tell_closed(closed, drive, reading)
        return
    verdict = next((one for one in report.inner if "said" in one), None)
    if verdict is not None:
        drive.line, words = verdict.line, verdict.get("said")
        if words.upper().startswith(("PASSED", "OK")):
            drive.passed = True
        elif not words.upper().startswith(("UNKNOWN", "NOT AVAILABLE")):
            drive.bad.append(f"health: {words[:80]}")
    for name, value in _NAMES["smartctl"].items():
        if name in found:
            setattr(drive, value, _count_in(found[name]))
    for one in (row for row in report.inner if "id" in row):
        old, failed = one.get("type") == "Old_age", one.get("failed")
        number, count = int(one.get("id")), int(one.get("raw"))
        _take_attribute(number, one.get("name"), old, failed, count, drive)
    if grown := int(found.get("grown", "0")):
        drive.advice.append(f"{grown:,} grown defects")
    for one in report.inner:
        if count := int(one.get("uncorrected") or 0):
            drive.advice.append(f"{count:,} uncorrected {one.get('what')} errors")
    if "self_test" in found:
        drive.advice.append("a self-test of it failed")
    if drive.passed is None and drive.warning is None and not drive.bad:
        why = "no verdict of the drive: SMART is switched off or not supported, or was not asked"
        reading.unknown(SMART, why, drive.name, report.line)
        return
    # What stands behind the verdict where all is printed hangs on the sort of drive.
    sort = next((sort for sort in ("nvme", "ata") if sort in found), "scsi")
    drive.whole = f"{sort}_end" in found or not found.keys() & {"information", "nvme_log"}
    _judge_drive(drive, reading)


def _take_attribute(
    number: int, name: str, old: bool, failed: str, count: int, drive: Drive
) -> None:
    """One attribute; one that tells of age alone advises where it fails."""
    if failed in ("NOW", "FAILING_NOW"):
        (drive.advice if old else drive.bad).append(f"{name} is below its threshold now")
    elif failed in ("Past", "In_the_past"):
        drive.advice.append(f"{name} was below its threshold once")
    elif number in _COUNTED and count:
        drive.advice.append(f"{count:,} {_COUNTED[number]}")


def _tell_closed(closed: re.Match[str], drive: Drive, reading: Reading) -> None:
    """A drive that could not be read: silent, or not there, or not to be read by this user."""
    why = closed["why"].strip(" :,")
    said = f"could not be read: {why or 'no reason'}"
    part = _find_device(closed["path"] or "") or drive.name
    if _SILENT.search(closed[0]) is None or _REFUSED.search(why) is not None:
        reading.unknown(SMART, said, part, drive.line)
    else:
        reading.add(SMART, FAIL, part, said, _SSD, drive.line)


def read_smartctl_json(text: str, reading: Reading) -> None:
    for document in iterate_documents(text, reading):
        if isinstance(document, Mapping) and "smartctl" in document:
            _read_object(document, reading)


def _get_member(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


def _read_object(found: Mapping[str, Any], reading: Reading) -> None:
    device = found.get("device")
    name = _find_device(find_text(device, "name")) if isinstance(device, Mapping) else None
    serial = find_text(found, "serial_number")
    drive = Drive(
        name or _find_device(reading.artifact) or (f"serial {serial}" if serial else None)
    )
    drive.whole = not reading.num_not_understood
    listed = _get_member(found.get("smartctl"), "messages")
    listed = iterate_items(listed) if isinstance(listed, list) else ()
    messages = [find_text(one, "string") for one in listed]
    closed = next((told for one in messages if (told := _CLOSED.search(one))), None)
    passed = _get_member(found.get("smart_status"), "passed")
    drive.passed = passed if isinstance(passed, bool) else None
    log = found.get("nvme_smart_health_information_log")
    if isinstance(log, Mapping):
        for key, value in _NAMES["smartctl_json"].items():
            setattr(drive, value, _count_in(log.get(key)))
        drive.whole &= _LAST in log
    table = _get_member(found.get("ata_smart_attributes"), "table")
    for row in iterate_items(table) if isinstance(table, list) else ():
        old = _get_member(row.get("flags"), "prefailure") is False
        count, number = _count_in(_get_member(row.get("raw"), "value")), _count_in(row.get("id"))
        failed = {"now": "NOW", "past": "Past"}.get(find_text(row, "when_failed"), "-")
        words = find_text(row, "name") or f"attribute {number}"
        _take_attribute(number or 0, words, old, failed, count or 0, drive)
    if grown := _count_in(found.get("scsi_grown_defect_list")):
        drive.advice.append(f"{grown:,} grown defects")
    if closed is not None and drive.passed is None:
        _tell_closed(closed, drive, reading)
    elif drive.passed is None and drive.warning is None:
        why = messages[0] if messages else "no verdict of the drive in it"
        reading.unknown(SMART, why, drive.name)
    else:
        _judge_drive(drive, reading)
