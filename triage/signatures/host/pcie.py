"""PCIe: advanced error reporting, containment, hot-plug, width and power states.

What stands between a processor and its devices breaks as a link: the slot, the
riser, the cable, the switch on the board. Corrected errors are counted by the
million on healthy machines and are graded so. A port names itself, the device
behind it is in the text; ``gpu`` is set only where NVIDIA's driver speaks.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.pci import normalize_bus_id, normalize_full_address
from triage.signatures.severity import (
    ADVICE,
    CORRECTED,
    ERROR,
    FATAL,
    NOISE,
    WARN,
    get_group_text,
)
from triage.signatures.signature import Reading

# What else a broken link of this driver's device may be.
_DRIVERS = {
    "nvidia": (Category.GPU,),
    "nouveau": (Category.GPU,),
    "amdgpu": (Category.GPU,),
    "mlx5_core": (Category.NIC,),
    "bnxt_en": (Category.NIC,),
    "ice": (Category.NIC,),
    "efa": (Category.NIC,),
    "nvme": (Category.SSD,),
}
# Of the uncorrectable errors these only say that somebody asked for what is not there.
_MILD_NAMES = ("unsupreq", "acsviol", "unxcmplt", "unxcmpl")
CORRECTABLE_NAMES = (
    r"RxErr|Receiver Error|BadTLP|Bad TLP|BadDLLP|Bad DLLP|Rollover|RELAY_NUM Rollover|Timeout|"
    r"Replay Timer Timeout|NonFatalErr|Advisory Non-Fatal|CorrIntErr|HeaderOF"
)


def place(match: re.Match[str], source: str | None = None) -> Reading:
    """Device, and the GPU where its own driver prints; ``source`` is the device behind a port."""
    driver = get_group_text(match, "driver")
    device = get_group_text(match, "device")
    fields = {}
    if source and normalize_full_address(source):
        fields["source"] = normalize_full_address(source) or ""
    gpu = normalize_bus_id(device) if driver == "nvidia" and device else None
    return Reading(gpu=gpu, also=_DRIVERS.get(driver), fields=fields)


def grade(reading: Reading, severity: str, *, mended: bool = False) -> Reading:
    """``reading`` with a severity of its own; what was ``mended`` only informs."""
    return Reading(
        gpu=reading.gpu,
        also=reading.also,
        role=ADVICE if mended else None,
        weak=mended,
        fields={**reading.fields, "severity": severity},
    )


def placed(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Only who prints."""
    return place(match)


def reported(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Severity as either wording of a report says it."""
    reading = place(match, get_group_text(match, "source"))
    severity = get_group_text(match, "bus_said") or get_group_text(match, "said")
    if severity.startswith("correct"):
        return grade(reading, CORRECTED, mended=True)
    return grade(reading, ERROR if "non" in severity else FATAL)


def named(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """An uncorrectable error by its name."""
    name = get_group_text(match, "name").replace(" ", "")
    if name.startswith(_MILD_NAMES) or name.startswith(("unsupported", "unexpected")):
        return grade(place(match), WARN, mended=True)
    return grade(place(match), FATAL if name.startswith(("sdes", "surprise")) else ERROR)


_MENDED = compile_re(rf"\[ ?\d{{1,2}}\] (?:{CORRECTABLE_NAMES})\b")
_NAMED = compile_re(r"\[ ?\d{1,2}\] [A-Z]")


def detailed(match: re.Match[str], after: Sequence[str]) -> Reading:
    """The registers behind a report; they only inform where the named bits were corrected."""
    names = [line for line in after if _NAMED.search(line)]
    if names and all(_MENDED.search(line) for line in names):
        return grade(place(match), CORRECTED, mended=True)
    return place(match)


def gone(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A link or a card that went; one that came, or never was there, is no fault."""
    if re.search(r"Link Up|Card present|No device|No link", match["event"], re.IGNORECASE):
        return Reading(role=NOISE, category=Category.NONE, fields={"severity": "info"})
    return place(match)


SIGNATURES = load(__name__)
