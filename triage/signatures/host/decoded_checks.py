"""Machine checks as others print them: AMD's decoder, old EDAC, mcelog and rasdaemon.

One error is told by up to a dozen lines. The line with the status word carries the
verdict; the address, the syndrome and the words around it only repeat it.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.patterns import compile_re
from triage.signatures.host.machine_check import classify_status, rate_severity
from triage.signatures.load import load
from triage.signatures.severity import ADVICE, CORRECTED, ERROR, FATAL, WARN, get_group_text
from triage.signatures.signature import Reading

_BOTH = (Category.HOST_MEMORY, Category.CPU)
# AMD's unified memory controllers report a DRAM error by these low words of the status.
_AMD_DRAM = compile_re(r"011b$|080[0-9a-f]$|081[0-9a-f]$", re.IGNORECASE)


def list_alternatives(category: Category) -> tuple[Category, ...]:
    """What a machine check may be besides its first reading."""
    return tuple(one for one in _BOTH if one is not category)


def grade_check(category: Category, severity: str, **fields: str) -> Reading:
    """A check of a category; what was corrected only informs."""
    mended = severity in (CORRECTED, WARN)
    return Reading(
        category=category,
        also=list_alternatives(category),
        role=ADVICE if mended else None,
        weak=mended,
        fields={"severity": severity, **fields},
    )


def amd_status(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The flags that the decoder prints, and the low word of the status."""
    flags = match["flags"].upper().split("|")
    if "UE" in flags or "UECC" in flags:
        severity = FATAL if "PCC" in flags else ERROR
    else:
        severity = CORRECTED
    dram = _AMD_DRAM.search(match["status"]) is not None
    return grade_check(Category.HOST_MEMORY if dram else Category.CPU, severity, bank=match["bank"])


def edac_before(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Corrected or not, as EDAC printed it up to kernel 3.4, and the DIMM."""
    severity = FATAL if match["class"].upper() == "UE" else CORRECTED
    part = (match["label"] or "").strip(' ":')
    return grade_check(Category.HOST_MEMORY, severity, **({"part": part} if part else {}))


def edac_device(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Caches and buses that EDAC watches beside the memory."""
    return grade_check(Category.CPU, FATAL if match["class"].upper() == "UE" else CORRECTED)


def counted(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Corrected or not, by the daemon's own word, and by the status word where one is printed."""
    said = get_group_text(match, "said")
    status = get_group_text(match, "status")
    uncorrected = said.startswith(("uncorrected", "fatal"))
    if status:
        word = int(status, 16)
        severity = rate_severity(word)
        if uncorrected and severity == CORRECTED:
            severity = ERROR
        return grade_check(classify_status(word), severity)
    return grade_check(Category.HOST_MEMORY, FATAL if uncorrected else CORRECTED)


def bus_error(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A PCIe error that the daemon saw."""
    said = get_group_text(match, "said")
    if said.startswith("correct"):
        return Reading(role=ADVICE, weak=True, fields={"severity": CORRECTED})
    return Reading(fields={"severity": ERROR if "non" in said else FATAL})


SIGNATURES = load(
    __name__,
    firmware_kind=lambda match, _after: Reading(
        category=Category.HOST_MEMORY if "multi-bit" in match[0].lower() else None
    ),
    firmware_before_49=lambda match, _after: (
        Reading(role=ADVICE, weak=True, fields={"severity": CORRECTED})
        if get_group_text(match, "said") in ("corrected", "info")
        else Reading(
            fields={"severity": FATAL if get_group_text(match, "said") == "fatal" else ERROR}
        )
    ),
    mcelog_status=lambda match, _after: grade_check(
        classify_status(int(match["status"], 16)), rate_severity(int(match["status"], 16))
    ),
)
