"""Memory and processors of the node: machine checks, EDAC, firmware reports, poison, heat.

A corrected error is a warning however often it comes; the part to replace stands in
``fields["part"]`` where the platform names it.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.patterns import compile_re
from triage.signatures.host.machine_check import classify_status, rate_severity
from triage.signatures.load import load
from triage.signatures.pci import normalize_full_address
from triage.signatures.severity import ADVICE, BDF, CORRECTED, ERROR, FATAL, WARN, get_group_text
from triage.signatures.signature import Reading


def machine_check(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The status word says more than the words around it."""
    status = int(match["status"], 16)
    severity = rate_severity(status)
    if "exception" in get_group_text(match, "form") and severity == CORRECTED:
        severity = ERROR  # a corrected error raises no exception
    category = classify_status(status)
    kind = {"severity": severity, "bank": match["bank"]}
    other = Category.CPU if category is Category.HOST_MEMORY else Category.HOST_MEMORY
    mended = severity == CORRECTED
    return Reading(
        category=category,
        also=(other,),
        role=ADVICE if mended else None,
        weak=mended,
        fields=kind,
    )


_UNITS = (
    ("unified memory controller", Category.HOST_MEMORY),
    ("memory controller", Category.HOST_MEMORY),
    ("dram ecc", Category.HOST_MEMORY),
    ("pcie", Category.IO_BOARD),
    ("nbio", Category.IO_BOARD),
)


def decoded_unit(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The unit of an AMD bank; what is no memory and no PCIe is the processor."""
    unit = get_group_text(match, "unit")
    category = next((one for words, one in _UNITS if words in unit), Category.CPU)
    return Reading(category=category)


def edac(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Corrected or not, and the DIMM, unless its label says that nobody knows."""
    bad = match["class"].upper() == "UE"
    fields = {"severity": FATAL if bad else CORRECTED}
    label = (match["label"] or "").strip()
    if label and not label.startswith(("unknown", "any ")):
        fields["part"] = label
    return Reading(role=None if bad else ADVICE, weak=not bad, fields=fields)


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


def firmware(match: re.Match[str], after: Sequence[str]) -> Reading:
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


def section_line(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A section line that stands alone, as after a search for its words."""
    known = _classify_section(match["section"])
    if known is None:
        return Reading()
    return Reading(category=known[0], also=known[1])


def poison(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """What became of a bad page; a page that was thrown away in time hurts nobody."""
    what = get_group_text(match, "what")
    if "soft" in match[0].lower()[:40]:  # too many corrected errors: the page is given up in time
        return Reading(role=ADVICE, weak=True, fields={"severity": CORRECTED}, traits=frozenset())
    if "recovered" in what:
        return Reading(fields={"severity": CORRECTED})
    return Reading(fields={"severity": FATAL if "kill" in what or "sigbus" in what else ERROR})


SIGNATURES = load(
    __name__,
    cool_again=lambda _match, _after: Reading(fields={"cleared": "yes"}),
)
