"""``smartctl`` of NVMe, SATA and SAS drives: ``-H``, ``-a``, ``-x``, and ``--json``.

::

    === START OF SMART DATA SECTION ===
    SMART overall-health self-assessment test result: PASSED

    SMART/Health Information (NVMe Log 0x02)
    Critical Warning:                   0x00
    Percentage Used:                    3%
    Media and Data Integrity Errors:    0

The drive's own verdict decides, and an attribute that fails now. Sectors that were moved,
media errors and self-tests that failed once are history: they advise. A drive that is listed
and does not answer fails; one that is not there, or may not be read, is unknown.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.host.drive import DRIVE, Drive, count_in, device_in, judge_drive
from triage.formats.health.json_report import documents_of, items_of, text_in
from triage.formats.health.reading import Reading, lines_of

__all__ = ["SMARTCTL", "SMARTCTL_JSON"]

# "smartctl 7.4 2023-08-01 r5530 [x86_64-linux-6.8.0] (local build)"
BANNER: Final = re.compile(r"^smartctl (?:version )?\d{1,2}\.\d{1,3} ", re.M)
SECTION: Final = re.compile(r"^=== START OF (?P<title>[A-Z ]{4,40}) SECTION ===", re.M)
VERDICT: Final = re.compile(
    r"SMART (?:overall-health self-assessment test result|Health Status): ?(?P<said>[^\n]{1,120})"
)
# "Smartctl open device: /dev/sdb failed: No such device", "Read Device Identity failed: ..."
CLOSED: Final = re.compile(
    r"(?:(?P<opened>Smartctl open device: (?P<path>\S{1,80})) failed"
    r"|Read (?:Device Identity|NVMe Identify Controller|SMART Data|NVMe SMART/Health Information)"
    r" failed|Standard Inquiry .{0,40}failed|INQUIRY failed)[:,]? ?(?P<why>[^\n]{0,160})"
)
# What an operator or the bus says of a drive that it knows and that is silent.
SILENT: Final = re.compile(
    r"input/output error|timed? ?out|resource temporarily unavailable|connection timed|scsi error"
    r"|no sense|medium or hardware error|not ready|NVMe Status", re.I
)  # fmt: skip
REFUSED: Final = re.compile(r"permission|operation not (?:permitted|supported)|access", re.I)
VALUE: Final = re.compile(r"(?P<name>[A-Z][A-Za-z/ .-]{2,60}?):\s{1,60}(?P<value>[^\n]{1,160})$")
NVME: Final = {
    "Critical Warning": "warning", "Available Spare": "spare",
    "Available Spare Threshold": "spare_threshold", "Percentage Used": "used",
    "Media and Data Integrity Errors": "media_errors",
    "Critical Comp. Temperature Time": "critical_minutes",
}  # fmt: skip
# "  5 Reallocated_Sector_Ct   0x0033   100   100   010    Pre-fail  Always       -       0"
ATTRIBUTE: Final = re.compile(
    r"\s{0,3}(?P<id>\d{1,3}) (?P<name>[A-Za-z][\w./-]{2,40})\s{1,30}"
    r"(?:0x[0-9a-f]{4}\s{1,8}\d{1,3}\s{1,8}\d{1,3}\s{1,8}(?:\d{1,3}|---)"
    r"\s{1,8}(?P<type>Pre-fail|Old_age)\s{1,12}(?:Always|Offline)"
    r"|[A-Z-]{6}\s{1,8}\d{1,3}\s{1,8}\d{1,3}\s{1,8}(?:\d{1,3}|---))"
    r"\s{1,8}(?P<failed>-|NOW|Past|FAILING_NOW|In_the_past)\s{1,8}(?P<raw>\d{1,20})"
)
# Attributes whose count above 0 says that sectors or the link were bad at some time.
COUNTED: Final = {5: "reallocated sectors", 187: "uncorrectable errors reported",
                  197: "pending sectors", 198: "offline uncorrectable sectors",
                  199: "errors of its cable"}  # fmt: skip
SELF_TEST: Final = re.compile(
    r"# ?\d{1,2}\s{1,4}(?:Short|Extended|Long|Background|Conveyance|Selective)\b[^\n]{0,40}?"
    r"(?P<how>Completed: (?:read|write|servo/seek|electrical|handling|unknown) (?:failure|element)"
    r"|Failed in segment)",
    re.I,
)
GROWN: Final = re.compile(r"Elements in grown defect list: (?P<count>\d{1,12})")
# "read:   1234  0  0  1234  0  9876.543  2": the last column is what could not be corrected
UNCORRECTED: Final = re.compile(
    r"(?P<what>read|write|verify):\s{1,12}(?:\d{1,20}\s{1,20}){5}\d{1,20}\.\d{1,6}\s{1,12}"
    r"(?P<count>\d{1,20})\s*$"
)
SERIAL: Final = re.compile(r"Serial [Nn]umber:\s{1,30}(?P<serial>[\w-]{3,40})")
# What stands behind the verdict where all is printed, by the sort of drive.
NVME_DRIVE: Final = re.compile(r"^(?:NVMe Version|Number of Namespaces|Firmware Updates \()", re.M)
ATA_DRIVE: Final = re.compile(r"^S?ATA Version is", re.M)
INFORMATION: Final = "INFORMATION"
NVME_END: Final = re.compile(r"^Error Information Log Entries:\s{1,40}\d", re.M)
ATA_END: Final = re.compile(
    r"^(?:SMART (?:Extended )?(?:Comprehensive )?(?:Error|Self-test) Log|No Errors Logged"
    r"|Device Error Count|General Purpose Log Directory)", re.M | re.I
)  # fmt: skip
SCSI_END: Final = re.compile(
    r"^(?:Non-medium error count|Error Counter logging not supported|Device does not support"
    r"|No Self-tests have been logged|SMART Self-test log|Long \(extended\) Self-test)", re.M | re.I
)  # fmt: skip


def claimed(head: str) -> bool:
    if BANNER.search(head) is None:
        return False
    return (
        SECTION.search(head) is not None
        or VERDICT.search(head) is not None
        or CLOSED.search(head) is not None
    )


def read(text: str, reading: Reading) -> None:
    """One report behind the other, each of one drive."""
    starts = [found.start() for found in BANNER.finditer(text)]
    asked = device_in(reading.artifact) or device_in(text[: starts[0]]) if starts else None
    for start, stop in zip(starts, [*starts[1:], len(text)], strict=True):
        report = text[start:stop]
        first = text.count("\n", 0, start) + 1
        read_report(report, first, asked, reading)
        # A script that asks for one drive after the other says which above its report.
        asked = device_in(report[report.rstrip("\n").rfind("\n") + 1 :]) or asked if stop else None
    reading.saw(text.count("\n") + (not text.endswith("\n")))


def read_report(report: str, first: int, asked: str | None, reading: Reading) -> None:
    reading.saw(first)
    serial = SERIAL.search(report)
    drive = Drive(asked or (f"serial {serial['serial']}" if serial else None), first)
    closed = CLOSED.search(report)
    if closed is not None:
        tell_closed(closed, drive, reading)
        return
    verdict = VERDICT.search(report)
    drive.line = first + report.count("\n", 0, verdict.start()) if verdict else first
    if verdict is not None:
        drive.passed = passed(verdict["said"], drive)
    for _, line in lines_of(report):
        take(line, drive)
    if drive.passed is None and drive.warning is None and not drive.bad:
        why = "no verdict of the drive: SMART is switched off or not supported, or was not asked"
        reading.unknown(DRIVE, why, part=drive.name, line=first)
        return
    drive.whole = is_whole(report)
    judge_drive(drive, reading)


def passed(words: str, drive: Drive) -> bool | None:
    """The verdict; of a SAS drive its words are kept where they are not good."""
    word = words.strip().upper()
    if word.startswith(("PASSED", "OK")):
        return True
    if word.startswith(("UNKNOWN", "NOT AVAILABLE")):
        return None
    drive.bad.append(f"health: {words.strip()[:80]}")
    return None


def take(line: str, drive: Drive) -> None:
    """What one line adds to what is known of a drive."""
    if (value := VALUE.match(line)) is not None and value["name"] in NVME:
        setattr(drive, NVME[value["name"]], count_in(value["value"]))
    elif (row := ATTRIBUTE.match(line)) is not None:
        attribute(int(row["id"]), row["name"], row["type"] or "", row["failed"], row["raw"], drive)
    elif SELF_TEST.match(line) is not None and not any("self-test" in one for one in drive.advice):
        drive.advice.append("a self-test of it failed")
    elif (grown := GROWN.search(line)) is not None and int(grown["count"]):
        drive.advice.append(f"{int(grown['count']):,} grown defects")
    elif (errors := UNCORRECTED.match(line)) is not None and int(errors["count"]):
        drive.advice.append(f"{int(errors['count']):,} uncorrected {errors['what']} errors")


def attribute(number: int, name: str, kind: str, failed: str, raw: str, drive: Drive) -> None:
    count = int(raw)
    if failed in ("NOW", "FAILING_NOW"):
        into = drive.advice if kind == "Old_age" else drive.bad
        into.append(f"{name} is below its threshold now")
    elif failed in ("Past", "In_the_past"):
        drive.advice.append(f"{name} was below its threshold once")
    elif number in COUNTED and count:
        drive.advice.append(f"{count:,} {COUNTED[number]}")


def tell_closed(closed: re.Match[str], drive: Drive, reading: Reading) -> None:
    """A drive that could not be read: silent, or not there, or not to be read by this user."""
    why = closed["why"].strip(" :,")
    said = f"could not be read: {why or 'no reason'}"
    part = device_in(closed["path"] or "") or drive.name
    if SILENT.search(closed[0]) is None or REFUSED.search(why) is not None:
        reading.unknown(DRIVE, said, part=part, line=drive.line)
        return
    reading.add(DRIVE, Outcome.FAIL, part=part, detail=said, category=Category.SSD, line=drive.line)


def is_whole(report: str) -> bool:
    """Whether what stands behind the verdict is there, as far as it was asked for."""
    titles = {found["title"] for found in SECTION.finditer(report)}
    if INFORMATION not in titles and "SMART/Health Information" not in report:
        return True  # smartctl -H
    if NVME_DRIVE.search(report) is not None or "SMART/Health Information" in report:
        return NVME_END.search(report) is not None
    if ATA_DRIVE.search(report) is not None:
        return ATA_END.search(report) is not None
    return SCSI_END.search(report) is not None


def claimed_json(head: str) -> bool:
    begins = head.lstrip("\ufeff \t\n").startswith("{")
    return begins and '"smartctl"' in head and '"json_format_version"' in head


def read_json(text: str, reading: Reading) -> None:
    for document in documents_of(text, reading):
        if isinstance(document, Mapping) and "smartctl" in document:
            read_object(document, reading)


def read_object(found: Mapping[str, Any], reading: Reading) -> None:
    device = found.get("device")
    name = device_in(text_in(device, "name")) if isinstance(device, Mapping) else None
    serial = text_in(found, "serial_number")
    drive = Drive(name or device_in(reading.artifact) or (f"serial {serial}" if serial else None))
    drive.whole = not reading.num_not_understood
    tool = found.get("smartctl")
    messages = [text_in(one, "string") for one in items_of(part(tool, "messages"))]
    closed = next((CLOSED.search(one) for one in messages if CLOSED.search(one)), None)
    status = found.get("smart_status")
    drive.passed = status.get("passed") if isinstance(status, Mapping) else None
    log = found.get("nvme_smart_health_information_log")
    if isinstance(log, Mapping):
        for key, field in JSON_NVME.items():
            setattr(drive, field, count_in(log.get(key)))
        drive.whole &= "num_err_log_entries" in log
    table = part(found.get("ata_smart_attributes"), "table")
    for row in items_of(table):
        row_of(row, drive)
    grown = count_in(found.get("scsi_grown_defect_list"))
    if grown:
        drive.advice.append(f"{grown:,} grown defects")
    if not isinstance(drive.passed, bool):
        drive.passed = None
    if closed is not None and drive.passed is None:
        tell_closed(closed, drive, reading)
    elif drive.passed is None and drive.warning is None:
        why = messages[0] if messages else "no verdict of the drive in it"
        reading.unknown(DRIVE, why, part=drive.name)
    else:
        judge_drive(drive, reading)


JSON_NVME: Final = {
    "critical_warning": "warning", "available_spare": "spare",
    "available_spare_threshold": "spare_threshold", "percentage_used": "used",
    "media_errors": "media_errors", "critical_comp_time": "critical_minutes",
}  # fmt: skip


def part(value: object, name: str) -> Sequence[Any] | None:
    """A list in an object; None where it is none."""
    inner = value.get(name) if isinstance(value, Mapping) else None
    return inner if isinstance(inner, list) else None


def row_of(row: Mapping[str, Any], drive: Drive) -> None:
    """One attribute of a SATA drive."""
    flags, raw = row.get("flags"), row.get("raw")
    prefail = flags.get("prefailure") if isinstance(flags, Mapping) else True
    count = count_in(raw.get("value")) if isinstance(raw, Mapping) else None
    number = count_in(row.get("id"))
    failed = {"now": "NOW", "past": "Past"}.get(text_in(row, "when_failed"), "-")
    kind = "Old_age" if prefail is False else ""
    name = text_in(row, "name") or f"attribute {number}"
    attribute(number or 0, name, kind, failed, str(count or 0), drive)


SMARTCTL: Final = CheckFormat("smartctl", claimed, read, cut_as=DRIVE, words=("smartctl ",))
SMARTCTL_JSON: Final = CheckFormat(
    "smartctl_json", claimed_json, read_json, lines=False, words=('"smartctl"',)
)
