"""``nvme smart-log``, ``nvme error-log`` and ``nvme list``, as text and with ``-o json``.

::

    Smart Log for NVME device:nvme0n1 namespace-id:ffffffff
    critical_warning                        : 0x4
    temperature                             : 38 °C (311 K)
    percentage_used                         : 101%
    media_errors                            : 12
    num_err_log_entries                     : 40

Names vary with the version of nvme-cli: ``available_spare`` or ``avail_spare``,
``percentage_used`` or ``percent_used``. Its JSON does not name the drive; the file's name may.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.host.drive import DRIVE, Drive, count_in, device_in, judge_drive
from triage.formats.health.json_report import documents_of, items_of, text_in
from triage.formats.health.reading import Reading, lines_of

__all__ = ["NVME_ERRORS", "NVME_JSON", "NVME_LIST", "NVME_SMART"]

HEADER: Final = re.compile(r"Smart Log for NVME device: ?(?:/dev/)?(?P<name>[\w-]{1,32})", re.I)
VALUE: Final = re.compile(
    r"\s{0,8}(?P<name>[A-Za-z][\w -]{1,60}?)\s{0,40}: ?(?P<value>[^\n]{0,120})$"
)
CLAIM: Final = re.compile(r"^\s{0,8}critical_warning\s{0,40}:", re.M | re.I | re.A)
BESIDE: Final = re.compile(
    r"^\s{0,8}(?:percentage_used|available_spare|temperature)\s{0,40}:", re.M
)
# The names of one value in the versions of nvme-cli, as they compare.
NAMES: Final = {
    "critical_warning": "warning", "available_spare": "spare", "avail_spare": "spare",
    "available_reserve": "spare", "available_spare_threshold": "spare_threshold",
    "spare_thresh": "spare_threshold", "percentage_used": "used", "percent_used": "used",
    "media_errors": "media_errors", "critical_composite_temperature_time": "critical_minutes",
    "critical_comp_time": "critical_minutes",
}  # fmt: skip
# Behind the counters of media errors; every version prints it.
LAST: Final = "num_err_log_entries"


def claimed_smart(head: str) -> bool:
    return CLAIM.search(head) is not None and (
        HEADER.search(head) is not None or BESIDE.search(head) is not None
    )


def read_smart(text: str, reading: Reading) -> None:
    drive: Drive | None = None
    asked = device_in(reading.artifact)
    for index, line in lines_of(text):
        header = HEADER.search(line)
        found = VALUE.match(line) if header is None else None
        name = "" if found is None else key_of(found["name"])
        # A drive's report begins with its header, or without one with its warning.
        if header is not None or (name == "critical_warning" and begun(drive)):
            if drive is not None:
                judge_drive(drive, reading)
            named = header["name"] if header is not None else asked
            drive, asked = Drive(named, index, whole=False), None
            reading.saw(index)
        elif drive is None or not name:
            asked = device_in(line) or asked
        if drive is not None and found is not None and put(drive, name, found["value"]):
            reading.saw(index)
    if drive is not None:
        judge_drive(drive, reading)


def begun(drive: Drive | None) -> bool:
    """Whether a warning that comes now is another drive's."""
    return drive is None or drive.warning is not None


def key_of(name: str) -> str:
    return re.sub(r"[ -]+", "_", name.strip().lower())


def put(drive: Drive, name: str, value: object) -> bool:
    """Take one value, known or not; whether it is one of a SMART log."""
    if name == LAST and count_in(value) is not None:
        drive.whole = drive.warning is not None and drive.media_errors is not None
        return True
    known = NAMES.get(name)
    if known is None:
        return name.startswith(
            ("temperature", "power", "data_units", "host_", "thermal", "warning")
        )
    if getattr(drive, known) is None:
        setattr(drive, known, count_in(value))
    return True


JSON_KEYS: Final = re.compile(
    r'"(?:avail_spare|percent_used|percentage_used|spare_thresh)"\s{0,8}:'
)
JSON_LIST: Final = re.compile(r'"Devices"\s{0,8}:\s{0,8}\[')
DEVICE_PATH: Final = re.compile(r'"DevicePath"|"HostNQN"|"ModelNumber"')


def claimed_json(head: str) -> bool:
    if not head.lstrip("\ufeff \t\n").startswith("{"):
        return False
    smart = '"critical_warning"' in head and JSON_KEYS.search(head) is not None
    return smart and '"smartctl"' not in head


def read_json(text: str, reading: Reading) -> None:
    for document in documents_of(text, reading):
        if not isinstance(document, Mapping) or "critical_warning" not in document:
            continue
        drive = Drive(device_in(reading.artifact), whole=False)
        for name, value in document.items():
            put(drive, key_of(str(name)), value)
        judge_drive(drive, reading)


# "Error Log Entries for device:nvme0n1 entries:64"
ERRORS: Final = re.compile(
    r"^Error Log Entries for device: ?(?P<name>[\w-]{1,32})(?: entries: ?(?P<entries>\d{1,5}))?",
    re.M,
)
ENTRY: Final = re.compile(r"\s{0,8}Entry\[ {0,4}\d{1,5}\s{0,4}\]")
ERROR_COUNT: Final = re.compile(r"\s{0,8}error_count\s{1,30}: ?(?P<count>\d{1,20})")
# "status_field    : 0x281(Unrecovered Read Error: ...)", "0x2002(INVALID_FIELD: ...)"
STATUS: Final = re.compile(r"\s{0,8}status_field\s{1,30}: ?(?P<status>[^\n]{1,120})")
MEDIUM: Final = re.compile(
    r"unrecovered[ _]read|write[ _]fault|guard[ _]check|tag[ _]check|compare[ _]fail|deallocated"
    r"|unwritten|internal[ _](?:device )?error|data[ _](?:transfer )?error", re.I
)  # fmt: skip


def claimed_errors(head: str) -> bool:
    return ERRORS.search(head) is not None


def read_errors(text: str, reading: Reading) -> None:
    """A log without dates: whatever stands in it may be years old."""
    log: ErrorLog | None = None
    for index, line in lines_of(text):
        if (header := ERRORS.match(line)) is not None:
            if log is not None:
                tell_errors(log, reading)
            log = ErrorLog(header["name"], index, int(header["entries"] or 0))
        elif log is None:
            continue
        elif ENTRY.match(line) is not None:
            log.listed += 1
        elif (found := ERROR_COUNT.match(line)) is not None:
            log.used = int(found["count"]) > 0
            log.count += log.used
        elif (status := STATUS.match(line)) is not None and log.used:
            if MEDIUM.search(status["status"]):
                log.medium.append(status["status"].strip())
        elif ":" not in line and not line.startswith("...."):
            continue
        reading.saw(index)
    if log is not None:
        tell_errors(log, reading)


@dataclass(slots=True)
class ErrorLog:
    """The errors that one controller kept; ``announced`` entries are to come."""

    name: str
    line: int
    announced: int
    listed: int = 0
    count: int = 0
    used: bool = False
    medium: list[str] = field(default_factory=list)


def tell_errors(log: ErrorLog, reading: Reading) -> None:
    check = "disk.error_log"
    if log.listed < log.announced and not log.medium:
        why = f"breaks off: {log.listed} of {log.announced} entries"
        reading.unknown(check, why, part=log.name, line=log.line)
        return
    said = f"{log.count} entries, none of the medium"
    if log.medium:
        said = f"{len(log.medium)} errors of the medium: {log.medium[0]}"
    reading.add(
        check,
        Outcome.WARN if log.medium else Outcome.PASS,
        part=log.name,
        detail=said,
        category=Category.SSD,
        line=log.line,
    )


LIST_HEADER: Final = re.compile(r"^Node\s{2,40}(?:Generic\s{2,40})?SN\s{2,40}Model\s{2,60}", re.M)
# "/dev/nvme0n1   S4X...   SAMSUNG MZ...   1   1.92  TB /   1.92  TB   512   B +  0 B   GDC5"
LIST_ROW: Final = re.compile(
    r"/dev/(?P<name>nvme\w{1,16})\s[^\n]{1,200}?\d{1,6}(?:\.\d{1,3})?\s{1,4}[kKMGTP]?i?B /"
    r"\s{1,6}(?P<size>\d{1,6}(?:\.\d{1,3})?)\s{1,4}[kKMGTP]?i?B\s"
)


def claimed_list(head: str) -> bool:
    found = "\nNode" in f"\n{head}" and LIST_HEADER.search(head) is not None
    return found or (
        head.lstrip("\ufeff \t\n").startswith("{")
        and JSON_LIST.search(head) is not None
        and DEVICE_PATH.search(head) is not None
    )


def read_list(text: str, reading: Reading) -> None:
    if text.lstrip("\ufeff \t\n").startswith("{"):
        read_json_list(text, reading)
        return
    for index, line in lines_of(text):
        if LIST_HEADER.match(line) or line.startswith("----"):
            reading.saw(index)
            continue
        row = LIST_ROW.match(line)
        if row is not None:
            reading.saw(index)
            listed(row["name"], float(row["size"]) > 0, index, reading)
        elif line.startswith("/dev/nvme"):
            reading.saw(index)
            reading.unknown("disk.present", "its row breaks off", part=device_in(line), line=index)


def read_json_list(text: str, reading: Reading) -> None:
    for document in documents_of(text, reading):
        for one in items_of(document.get("Devices") if isinstance(document, Mapping) else None):
            name = device_in(text_in(one, "DevicePath"))
            size = count_in(one.get("PhysicalSize"))
            if name is not None and size is not None:
                listed(name, size > 0, None, reading)


def listed(name: str, has_size: bool, line: int | None, reading: Reading) -> None:
    """A controller that no longer works is listed with no capacity."""
    reading.add(
        "disk.present",
        Outcome.PASS if has_size else Outcome.FAIL,
        part=name,
        detail="listed with its capacity" if has_size else "listed without any capacity",
        category=Category.SSD,
        line=line,
    )


NVME_SMART: Final = CheckFormat(
    "nvme_smart", claimed_smart, read_smart, cut_as=DRIVE, words=("critical_warning",)
)
NVME_JSON: Final = CheckFormat(
    "nvme_smart_json", claimed_json, read_json, lines=False, words=('"critical_warning"',)
)
NVME_ERRORS: Final = CheckFormat(
    "nvme_error_log",
    claimed_errors,
    read_errors,
    cut_as="disk.error_log",
    words=("Error Log Entries",),
)
NVME_LIST: Final = CheckFormat(
    "nvme_list", claimed_list, read_list, cut_as="disk.present", words=("Model", '"Devices"')
)
