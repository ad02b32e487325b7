"""Readers of a node's own lines: machine checks, reports of the firmware, disks, crashes.

One machine check is told by up to a dozen lines; the line with the status word carries the verdict,
the others only repeat it. The low 16 bits of the status are the error code, the same on every x86:
a memory controller has a range of its own; caches, translation buffers and the interconnect are the
processor.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.patterns import compile_re
from triage.signatures.pci import normalize_full_address
from triage.signatures.severity import ADVICE, BDF, CORRECTED, ERROR, FATAL, WARN, get_group_text
from triage.signatures.signature import Reading

_UNCORRECTED = 1 << 61
_CONTEXT_CORRUPT = 1 << 57
_ERROR_CODE = 0xEFFF  # without bit 12, which only says that reports are being filtered
_MEMORY_CONTROLLER = 0xFF80
_MEMORY_CONTROLLER_CODES = (0x0080, 0x0280)  # the second range: a memory used as a cache


def classify_status(status: int) -> Category:
    """Memory where its controller reports, else the processor."""
    if status & _ERROR_CODE & _MEMORY_CONTROLLER in _MEMORY_CONTROLLER_CODES:
        return Category.HOST_MEMORY
    return Category.CPU


def rate_severity(status: int) -> str:
    """Fatal where the processor's own state is lost."""
    if status & _CONTEXT_CORRUPT:
        return FATAL
    return ERROR if status & _UNCORRECTED else CORRECTED


def _grade_check(category: Category, severity: str, **fields: str) -> Reading:
    """A check of a category; what was corrected only informs."""
    mended = severity in (CORRECTED, WARN)
    other = Category.CPU if category is Category.HOST_MEMORY else Category.HOST_MEMORY
    return Reading(
        category=category,
        also=(other,),
        role=ADVICE if mended else None,
        weak=mended,
        fields={"severity": severity, **fields},
    )


def read_machine_check(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The status word says more than the words around it."""
    status = int(match["status"], 16)
    severity = rate_severity(status)
    if "exception" in get_group_text(match, "form") and severity == CORRECTED:
        severity = ERROR  # a corrected error raises no exception
    return _grade_check(classify_status(status), severity)


def read_counted_check(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Corrected or not, by the daemon's own word, and by the status word where one is printed."""
    uncorrected = get_group_text(match, "said").startswith(("uncorrected", "fatal"))
    status = get_group_text(match, "status")
    if not status:
        return _grade_check(Category.HOST_MEMORY, FATAL if uncorrected else CORRECTED)
    severity = rate_severity(int(status, 16))
    if uncorrected and severity == CORRECTED:
        severity = ERROR
    return _grade_check(classify_status(int(status, 16)), severity)


_SECTIONS = (
    ("memory", Category.HOST_MEMORY, ()),
    ("cxl", Category.HOST_MEMORY, (Category.IO_BOARD,)),
    ("pcie", Category.IO_BOARD, ()),
    ("pci ", Category.IO_BOARD, ()),
    ("dmar", Category.IO_BOARD, (Category.CPU,)),
    ("processor", Category.CPU, ()),
)
_SECTION = compile_re(r"section[_ ]type: (?P<section>[^\n]{1,80})", re.IGNORECASE)
_PART = compile_re(
    r"(?:DIMM location: (?!not present)|fru_text: )(?P<part>[^\n]{1,80})", re.IGNORECASE
)
DEVICE = compile_re(rf"device_id: (?P<device>{BDF})", re.IGNORECASE)
# What the firmware calls it, and the word for it here.
_SEVERITIES = {"recoverable": ERROR, "fatal": FATAL, "corrected": CORRECTED, "info": WARN}


def _classify_section(section: str) -> tuple[Category, tuple[Category, ...]] | None:
    """The category of a section of a firmware report."""
    lowered = section.lower()
    for words, category, also in _SECTIONS:
        if words in lowered:
            return category, also
    return None


def read_firmware(match: re.Match[str], after: Sequence[str]) -> Reading:
    """One report of the firmware: its severity here, its section in the lines behind it."""
    severity = _SEVERITIES[get_group_text(match, "event_severity")]
    fields = {"severity": severity}
    block = "\n".join(after)
    # The next report is another event.
    block = re.split(r"event severity: ", block, maxsplit=1, flags=re.IGNORECASE)[0]
    section = _SECTION.search(block)
    part = _PART.search(block)
    if part is not None:
        fields["part"] = part["part"].strip()
    device = DEVICE.search(block)
    if device is not None:
        fields["device"] = normalize_full_address(device["device"]) or device["device"]
    known = None if section is None else _classify_section(section["section"])
    if section is not None:
        fields["section"] = section["section"].strip()
    mended = severity in (CORRECTED, WARN)
    role = ADVICE if mended else None
    if known is None:
        return Reading(role=role, weak=True, fields=fields)
    return Reading(category=known[0], also=known[1], role=role, weak=mended, fields=fields)


def read_section_line(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A section line that stands alone, as after a search for its words."""
    known = _classify_section(match["section"])
    if known is None:
        return Reading()
    return Reading(category=known[0], also=known[1])


def read_aborted(match: re.Match[str], after: Sequence[str]) -> Reading:
    """A command without an answer; the device may have obeyed when it was told to give it up."""
    end = f" {match['device']}: Abort status: 0x0"
    if any(line.rstrip().endswith(end) for line in after):
        return Reading(role=ADVICE, weak=True, fields={"severity": WARN})
    return Reading()


def read_offset(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Where in the library a process died, so that the same bug compares equal wherever the
    library was loaded.
    """
    groups = match.groupdict()
    if groups.get("base") is None:
        return Reading()
    distance = int(groups["ip"], 16) - int(groups["base"], 16)
    return Reading(fields={"offset": hex(distance)} if distance >= 0 else {})
