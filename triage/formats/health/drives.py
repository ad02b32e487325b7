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

SMART: Final = "disk.smart"
_SSD: Final = Category.SSD
# "/dev/nvme3n1"; "smartctl_-a_.dev.nvme3n1" is how a sosreport names the file
_DEVICE: Final = compile_re(
    r"(?:/dev/|[._]dev[._])((?:nvme\d{1,4}(?:n\d{1,4})?|sd[a-z]{1,3}|sg\d{1,3}))"
)
_NUMBER: Final = compile_re(r"0x[0-9a-fA-F]{1,16}|\d[\d,.' \u00a0\u202f]{0,40}", re.ASCII)
# NVMe base specification, SMART / Health Information, byte 0.
_WARNINGS: Final = (
    "spare below its threshold", "too hot or too cold", "reliability degraded", "read-only",
    "backup of volatile memory failed", "persistent memory unreliable",
)  # fmt: skip
_WORN: Final = 100
# The names of each value in the tools and their versions.
_NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    form: {name: field for field, names in table.items() for name in names}
    for form, table in load_data(__name__)["values"].items()
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


# nvme list: a controller that no longer works is listed with no capacity.

_PRESENT: Final = "disk.present"
_LIST_HEADER: Final = compile_re(r"^Node\s{2,40}(?:Generic\s{2,40})?SN\s{2,40}Model\s{2,60}", re.M)
# "/dev/nvme0n1   S4X...   SAMSUNG MZ...   1   1.92  TB /   1.92  TB   512   B +  0 B   GDC5"
_LIST_ROW: Final = compile_re(
    r"/dev/(?P<name>nvme\w{1,16})\s[^\n]{1,200}?\d{1,6}(?:\.\d{1,3})?\s{1,4}[kKMGTP]?i?B /"
    r"\s{1,6}(?P<size>\d{1,6}(?:\.\d{1,3})?)\s{1,4}[kKMGTP]?i?B\s"
)
_JSON_LIST: Final = compile_re(r'"Devices"\s{0,8}:\s{0,8}\[')
_OF_DEVICE: Final = compile_re(r'"DevicePath"|"HostNQN"|"ModelNumber"')


def _is_object(text: str) -> bool:
    return text.lstrip("\ufeff \t\n").startswith("{")


def begins_list(head: str) -> bool:
    if _LIST_HEADER.search(head) is not None:
        return True
    known = _JSON_LIST.search(head) is not None and _OF_DEVICE.search(head) is not None
    return _is_object(head) and known


def read_list(text: str, reading: Reading) -> None:
    for document in iterate_documents(text, reading) if _is_object(text) else ():
        for one in iterate_items(
            document.get("Devices") if isinstance(document, Mapping) else None
        ):
            name, size = (
                _find_device(find_text(one, "DevicePath")),
                _count_in(one.get("PhysicalSize")),
            )
            if name is not None and size is not None:
                _tell_listed(name, size > 0, None, reading)
    for index, line in () if _is_object(text) else iterate_lines(text):
        if (row := _LIST_ROW.match(line)) is not None:
            _tell_listed(row["name"], float(row["size"]) > 0, index, reading)
        elif line.startswith("/dev/nvme"):
            reading.unknown(_PRESENT, "its row breaks off", _find_device(line), index)
        elif not _LIST_HEADER.match(line) and not line.startswith("----"):
            continue
        reading.saw(index)


def _tell_listed(name: str, has_size: bool, line: int | None, reading: Reading) -> None:
    said = "listed with its capacity" if has_size else "listed without any capacity"
    reading.add(_PRESENT, PASS if has_size else FAIL, name, said, _SSD, line)


# smartctl -H, -a, -x: a drive that is listed and does not answer fails; one that is not there, or
# may not be read, is unknown.

# "smartctl 7.4 2023-08-01 r5530 [x86_64-linux-6.8.0] (local build)"
_BANNER: Final = compile_re(r"^smartctl (?:version )?\d{1,2}\.\d{1,3} ", re.M)
SECTION: Final = compile_re(r"^=== START OF (?P<title>[A-Z ]{4,40}) SECTION ===", re.M)
_VERDICT: Final = compile_re(
    r"SMART (?:overall-health self-assessment test result|Health Status): ?(?P<said>[^\n]{1,120})"
)
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
_ENTRY_OF: Final = compile_re(
    r"(?P<name>[A-Z][A-Za-z/ .-]{2,60}?):\s{1,60}(?P<value>[^\n]{1,160})$"
)
# "  5 Reallocated_Sector_Ct   0x0033   100   100   010    Pre-fail  Always       -       0"
_ATTRIBUTE: Final = compile_re(
    r"\s{0,3}(?P<id>\d{1,3}) (?P<name>[A-Za-z][\w./-]{2,40})\s{1,30}"
    r"(?:0x[0-9a-f]{4}\s{1,8}\d{1,3}\s{1,8}\d{1,3}\s{1,8}(?:\d{1,3}|---)"
    r"\s{1,8}(?P<type>Pre-fail|Old_age)\s{1,12}(?:Always|Offline)"
    r"|[A-Z-]{6}\s{1,8}\d{1,3}\s{1,8}\d{1,3}\s{1,8}(?:\d{1,3}|---))"
    r"\s{1,8}(?P<failed>-|NOW|Past|FAILING_NOW|In_the_past)\s{1,8}(?P<raw>\d{1,20})"
)
# Attributes whose count above 0 says that sectors or the link were bad at some time.
_COUNTED: Final = {5: "reallocated sectors", 187: "uncorrectable errors reported",
                  197: "pending sectors", 198: "offline uncorrectable sectors",
                  199: "errors of its cable"}  # fmt: skip
_SELF_TEST: Final = compile_re(
    r"# ?\d{1,2}\s{1,4}(?:Short|Extended|Long|Background|Conveyance|Selective)\b[^\n]{0,40}?"
    r"(?:Completed: (?:read|write|servo/seek|electrical|handling|unknown) (?:failure|element)"
    r"|Failed in segment)", re.I
)  # fmt: skip
_GROWN: Final = compile_re(r"Elements in grown defect list: (?P<count>\d{1,12})")
# "read:   1234  0  0  1234  0  9876.543  2": the last column is what could not be corrected
_UNCORRECTED: Final = compile_re(
    r"(?P<what>read|write|verify):\s{1,12}(?:\d{1,20}\s{1,20}){5}\d{1,20}\.\d{1,6}\s{1,12}"
    r"(?P<count>\d{1,20})\s*$"
)
_SERIAL: Final = compile_re(r"Serial [Nn]umber:\s{1,30}(?P<serial>[\w-]{3,40})")
# What stands behind the verdict where all is printed, by the sort of drive: (sort, end).
_NVME_LOG: Final = "SMART/Health Information"
_ENDS: Final = (
    (compile_re(rf"^(?:NVMe Version|Number of Namespaces|Firmware Updates \()|{_NVME_LOG}", re.M),
     compile_re(r"^Error Information Log Entries:\s{1,40}\d", re.M)),
    (compile_re(r"^S?ATA Version is", re.M),
     compile_re(
         r"^(?:SMART (?:Extended )?(?:Comprehensive )?(?:Error|Self-test) Log|No Errors Logged"
         r"|Device Error Count|General Purpose Log Directory)", re.M | re.I)),
    (compile_re(""),
     compile_re(
         r"^(?:Non-medium error count|Error Counter logging not supported|Device does not support"
         r"|No Self-tests have been logged|SMART Self-test log|Long \(extended\) Self-test)",
         re.M | re.I)),
)  # fmt: skip


def read_smartctl(text: str, reading: Reading) -> None:
    """One report behind the other, each of one drive."""
    starts = [found.start() for found in _BANNER.finditer(text)]
    asked = _find_device(reading.artifact) or _find_device(text[: starts[0]]) if starts else None
    for start, stop in zip(starts, [*starts, len(text)][1:], strict=False):
        report, first = text[start:stop], text.count("\n", 0, start) + 1
        _read_report(report, first, asked, reading)
        # A script that asks for one drive after the other says which above its report.
        asked = _find_device(report[report.rstrip("\n").rfind("\n") + 1 :]) or asked
    reading.saw(text.count("\n") + (not text.endswith("\n")))


def _read_report(report: str, first: int, asked: str | None, reading: Reading) -> None:
    reading.saw(first)
    serial = _SERIAL.search(report)
    drive = Drive(asked or (f"serial {serial['serial']}" if serial else None), first)
    closed = _CLOSED.search(report)
    if closed is not None:
        _tell_closed(closed, drive, reading)
        return
    verdict = _VERDICT.search(report)
    if verdict is not None:
        drive.line = first + report.count("\n", 0, verdict.start())
        words = verdict["said"].strip()
        if words.upper().startswith(("PASSED", "OK")):
            drive.passed = True
        elif not words.upper().startswith(("UNKNOWN", "NOT AVAILABLE")):
            drive.bad.append(f"health: {words[:80]}")
    for _, line in iterate_lines(report):
        _take(line, drive)
    if drive.passed is None and drive.warning is None and not drive.bad:
        why = "no verdict of the drive: SMART is switched off or not supported, or was not asked"
        reading.unknown(SMART, why, drive.name, first)
        return
    drive.whole = _is_whole(report)
    _judge_drive(drive, reading)


def _take(line: str, drive: Drive) -> None:
    """What one line adds to what is known of a drive."""
    if (value := _ENTRY_OF.match(line)) is not None and value["name"] in _NAMES["smartctl"]:
        setattr(drive, _NAMES["smartctl"][value["name"]], _count_in(value["value"]))
    elif (row := _ATTRIBUTE.match(line)) is not None:
        old = row["type"] == "Old_age"
        _take_attribute(int(row["id"]), row["name"], old, row["failed"], int(row["raw"]), drive)
    elif _SELF_TEST.match(line) is not None and "a self-test of it failed" not in drive.advice:
        drive.advice.append("a self-test of it failed")
    elif (grown := _GROWN.search(line)) is not None and int(grown["count"]):
        drive.advice.append(f"{int(grown['count']):,} grown defects")
    elif (errors := _UNCORRECTED.match(line)) is not None and int(errors["count"]):
        drive.advice.append(f"{int(errors['count']):,} uncorrected {errors['what']} errors")


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


def _is_whole(report: str) -> bool:
    """Whether what stands behind the verdict is there, as far as it was asked for."""
    titles = {found["title"] for found in SECTION.finditer(report)}
    if "INFORMATION" not in titles and _NVME_LOG not in report:
        return True  # smartctl -H
    end = next(end for sort, end in _ENDS if sort.search(report) is not None)
    return end.search(report) is not None


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
