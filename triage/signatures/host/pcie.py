"""PCIe: advanced error reporting, containment, hot-plug, width and power states.

What stands between a processor and its devices breaks as a link: the slot, the
riser, the cable, the switch on the board. Corrected errors are counted by the
million on healthy machines and are graded so. A port names itself, the device
behind it is in the text; ``gpu`` is set only where NVIDIA's driver speaks.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Kind, Trait
from triage.signatures.family import (
    ADVICE,
    BDF,
    CORRECTED,
    ERROR,
    FATAL,
    NOISE,
    WARN,
    HostFamily,
    says,
)
from triage.signatures.pci import bus_id, full_address
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

AER = "Linux: drivers/pci/pcie/aer.c and err.c, many releases"
DPC = "Linux: drivers/pci/pcie/dpc.c"
PCI = "Linux: drivers/pci/pci.c and probe.c"
HOTPLUG = "Linux: drivers/pci/hotplug/pciehp_ctrl.c"

# pcieport 0000:00:03.0:
SPEAKER = rf"(?:\b(?P<driver>[a-z][\w.-]{{1,30}}) )?\b(?P<device>{BDF}): "
# What else a broken link of this driver's device may be.
DRIVERS = {
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
MILD_NAMES = ("unsupreq", "acsviol", "unxcmplt", "unxcmpl")
UNCORRECTABLE_NAMES = (
    r"SDES|Surprise Down(?: Error)?|DLP|Data Link Protocol|TLP|Poisoned TLP|FCP|Flow Control "
    r"Protocol|CmpltTO|Completion Timeout|CmpltAbrt|Completer Abort|UnxCmplt|UnxCmpl|Unexpected "
    r"Completion|RxOF|Receiver Overflow|MalfTLP|Malformed TLP|ECRC|UnsupReq|Unsupported Request|"
    r"ACSViol|UncorrIntErr|PoisonTLPBlocked|TLPBlockedErr|BlockedTLP|AtomicOpBlocked"
)
CORRECTABLE_NAMES = (
    r"RxErr|Receiver Error|BadTLP|Bad TLP|BadDLLP|Bad DLLP|Rollover|RELAY_NUM Rollover|Timeout|"
    r"Replay Timer Timeout|NonFatalErr|Advisory Non-Fatal|CorrIntErr|HeaderOF"
)


def place(match: re.Match[str], source: str | None = None) -> Reading:
    """Device, and the GPU where its own driver prints; ``source`` is the device behind a port."""
    driver = says(match, "driver")
    device = says(match, "device")
    fields = {}
    if source and full_address(source):
        fields["source"] = full_address(source) or ""
    gpu = bus_id(device) if driver == "nvidia" and device else None
    return Reading(gpu=gpu, also=DRIVERS.get(driver), fields=fields)


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
    reading = place(match, says(match, "source"))
    severity = says(match, "bus_said") or says(match, "said")
    if severity.startswith("correct"):
        return grade(reading, CORRECTED, mended=True)
    return grade(reading, ERROR if "non" in severity else FATAL)


def named(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """An uncorrectable error by its name."""
    name = says(match, "name").replace(" ", "")
    if name.startswith(MILD_NAMES) or name.startswith(("unsupported", "unexpected")):
        return grade(place(match), WARN, mended=True)
    return grade(place(match), FATAL if name.startswith(("sdes", "surprise")) else ERROR)


MENDED = re.compile(rf"\[ ?\d{{1,2}}\] (?:{CORRECTABLE_NAMES})\b")
NAMED = re.compile(r"\[ ?\d{1,2}\] [A-Z]")


def detailed(match: re.Match[str], after: Sequence[str]) -> Reading:
    """The registers behind a report; they only inform where the named bits were corrected."""
    names = [line for line in after if NAMED.search(line)]
    if names and all(MENDED.search(line) for line in names):
        return grade(place(match), CORRECTED, mended=True)
    return place(match)


def gone(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A link or a card that went; one that came, or never was there, is no fault."""
    if re.search(r"Link Up|Card present|No device|No link", match["event"], re.IGNORECASE):
        return Reading(role=NOISE, category=Category.NONE, fields={"severity": "info"})
    return place(match)


PCIE = HostFamily("pcie", Kind.PCIE, category=Category.IO_BOARD, read=placed)

PCIE.root(
    "aer_error",
    rf"{SPEAKER}(?:AER: )?(?:PCIe Bus Error: severity=(?P<bus_said>(?:Un)?correct(?:ed|able)"
    r"(?: ?\((?:Non-?)?Fatal\))?)"
    r"(?:, type=(?P<layer>[\w ]{1,30}))?(?:, \(?(?P<agent>[\w ]{1,30}))?|"
    r"(?:AER: )?(?:Multiple )?(?P<said>(?:Un)?correct(?:ed|able)(?: ?\((?:Non-?)?Fatal\))?) error "
    rf"(?:message )?received(?: from|:) ?(?P<source>{BDF}|id=[0-9a-f]{{1,4}})?)",
    literals=("pcie bus error", "error received", "error message received"),
    matches=(
        "pcieport 0000:5c:01.0: AER: Multiple Uncorrected (Fatal) error received: 0000:5c:01.0",
        "pcieport 0000:5c:01.0: AER: Corrected error received: id=00e4",
        "pcieport 0000:5c:01.0: AER: Correctable error message received from 0000:5d:00.0",
        "pcieport 0000:5c:01.0: AER: Uncorrectable (Non-Fatal) error message received from "
        "0000:5d:00.0",
        "pcieport 0000:5c:01.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction "
        "Layer, (Requester ID)",
        "nvidia 0000:5d:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, "
        "id=5d00(Receiver ID)",
    ),
    near_misses=(
        "pcieport 0000:5c:01.0: AER: enabled with IRQ 38",
        "rpc: Correctable error received from the peer",
    ),
    source=AER,
    read=reported,
)


PCIE.root(
    "aer_uncorrectable",
    rf"{SPEAKER}(?:AER: )? {{0,8}}\[ ?(?P<bit>\d{{1,2}})\] "
    rf"(?P<name>{UNCORRECTABLE_NAMES})\b(?: {{0,40}}(?P<first>\(First\)))?",
    literals=(
        "] sdes",
        "] surprise down",
        "] dlp",
        "] data link protocol",
        "] tlp",
        "] poison",
        "] fcp",
        "] flow control protocol",
        "] cmpl",
        "] completion timeout",
        "] completer abort",
        "] unxcmpl",
        "] unexpected completion",
        "] rxof",
        "] receiver overflow",
        "] malftlp",
        "] malformed tlp",
        "] ecrc",
        "] unsup",
        "] acsviol",
        "] uncorrinterr",
        "] blockedtlp",
        "] tlpblockederr",
        "] atomicopblocked",
    ),
    matches=(
        "pcieport 0000:5c:01.0:    [14] CmpltTO                (First)",
        "pcieport 0000:5c:01.0: AER:    [ 5] SDES                   (First)",
        "pcieport 0000:5c:01.0:    [ 5] Surprise Down",
        "pcieport 0000:5c:01.0:    [18] Malformed TLP         (First)",
        "nvidia 0000:5d:00.0:    [20] UnsupReq               (First)",
    ),
    near_misses=(
        "pcieport 0000:5c:01.0:    [ 6] BadTLP",
        "pcieport 0000:5c:01.0: AER:   TLP Header: 4a000001 5c000004 00000000 00000000",
    ),
    source=AER,
    read=named,
)
PCIE.advice(
    "aer_correctable",
    rf"{SPEAKER}(?:AER: )? {{0,8}}\[ ?(?P<bit>\d{{1,2}})\] "
    rf"(?P<name>{CORRECTABLE_NAMES})\b",
    literals=(
        "] rxerr",
        "] receiver error",
        "] badtlp",
        "] bad tlp",
        "] baddllp",
        "] bad dllp",
        "] rollover",
        "] relay_num rollover",
        "] timeout",
        "] replay timer timeout",
        "] nonfatalerr",
        "] advisory non-fatal",
        "] corrinterr",
        "] headerof",
    ),
    matches=(
        "pcieport 0000:5c:01.0:    [ 0] RxErr                  (First)",
        "pcieport 0000:5c:01.0: AER:    [12] Timeout",
        "mlx5_core 0000:5d:00.0:    [ 6] Bad TLP",
    ),
    near_misses=("worker [12] Timeout after 30 s",),
    source=AER,
    severity=CORRECTED,
    weak=True,
)
PCIE.consequence(
    "aer_detail",
    rf"{SPEAKER}(?:AER: )? {{0,8}}(?:device \[[0-9a-f]{{4}}:[0-9a-f]{{4}}\] error status/mask="
    r"(?P<status>[0-9a-f]{1,8})|TLP Header|Error of this Agent|aer_status: 0x)",
    literals=("error status/mask=", "tlp header", "error of this agent", "aer_status:"),
    matches=(
        "pcieport 0000:5c:01.0:   device [8086:2030] error status/mask=00004000/00000000",
        "pcieport 0000:5c:01.0: AER:   TLP Header: 4a000001 5c000004 00000000 00000000",
        "nvidia 0000:5d:00.0: AER: aer_status: 0x00100000, aer_mask: 0x00000000",
    ),
    near_misses=("http: error status/mask=1",),
    source=AER,
    severity=WARN,
    context=2,
    read=detailed,
)
PCIE.consequence(
    "aer_recovery_failed",
    rf"{SPEAKER}(?:AER: )?(?:can't recover|device recovery failed|\w{{4,12}} Port link has been "
    r"reset|Link reset (?:at upstream device [\w:.]{1,16} )?failed|subordinate device reset "
    r"failed)",
    literals=(
        "can't recover",
        "device recovery failed",
        "link has been reset",
        "no error_detected callback",
        "link reset failed",
        "link reset at upstream device",
        "subordinate device reset failed",
    ),
    matches=(
        "nvidia 0000:5d:00.0: AER: can't recover (no error_detected callback)",
        "pcieport 0000:5c:01.0: AER: device recovery failed",
        "pcieport 0000:5c:01.0: AER: Root Port link has been reset (0)",
    ),
    near_misses=(
        "pcieport 0000:5c:01.0: AER: device recovery successful",
        "we can't recover your password",
    ),
    source=AER,
)
PCIE.noise(
    "aer_recovered",
    rf"{SPEAKER}(?:AER: )?device recovery successful",
    literals=("device recovery successful",),
    matches=("pcieport 0000:5c:01.0: AER: device recovery successful",),
    near_misses=("pcieport 0000:5c:01.0: AER: device recovery failed",),
    source=AER,
    severity="info",
    category=None,
)
PCIE.root(
    "containment",
    rf"{SPEAKER}(?:AER: )?DPC: (?P<event>containment event|unmasked uncorrectable error|"
    r"ERR_(?:NON)?FATAL|RP PIO)"
    r"(?:[^\n]{0,40}?status:(?P<status>0x[0-9a-f]{1,4}) source:(?P<source>0x[0-9a-f]{1,4}))?",
    literals=("dpc: containment event", "dpc: unmasked uncorrectable", "dpc: err_", "dpc: rp pio"),
    matches=(
        "pcieport 0000:5c:01.0: DPC: containment event, status:0x1f11 source:0x5d00",
        "pcieport 0000:5c:01.0: DPC: ERR_FATAL detected",
        "pcieport 0000:5c:01.0: DPC: unmasked uncorrectable error detected",
    ),
    near_misses=("pcieport 0000:5c:01.0: DPC: error containment capabilities: Int Msg #0, RPExt+",),
    source=DPC,
    severity=FATAL,
)
PCIE.root(
    "hot_plug",
    rf"(?:\b(?P<driver>[a-z][\w.-]{{1,30}}) )?\b(?P<device>{BDF})(?::pcie\d{{3}})?: "
    r"(?:pciehp: )?Slot\((?P<slot>[\w-]{1,12})\): "
    r"(?P<event>Link Down|Card not present|Link Up|Card present|Power fault|Surprise Removal|"
    r"No device found|No link)",
    literals=("slot(",),
    matches=(
        "pcieport 0000:5c:01.0: pciehp: Slot(12): Link Down",
        "pcieport 0000:5c:01.0: pciehp: Slot(12): Card not present",
        "pciehp 0000:5c:01.0:pcie004: Slot(12): Link Up",
        "pcieport 0000:5c:01.0: pciehp: Slot(12-1): Power fault",
    ),
    near_misses=(
        "pcieport 0000:5c:01.0: pciehp: Slot(12): Attention button pressed",
        "Slot(12): Link Down",
    ),
    source=HOTPLUG,
    severity=FATAL,
    also=(Category.CHASSIS, Category.POWER),
    read=gone,
)
PCIE.root(
    "link_lost",
    rf"(?:\b(?P<driver>[a-z][\w.-]{{1,30}}) )?\b(?P<device>{BDF})(?: \w{{1,16}})?: [^\n]{{0,30}}?"
    r"PCIe link lost",
    literals=("pcie link lost",),
    matches=("igc 0000:5d:00.0 eth3: PCIe link lost, device now detached",),
    near_misses=(
        "is the PCIe link lost or not",
        "amdgpu 0000:5d:00.0: amdgpu: device lost from bus!",
    ),
    source=PCI,
    severity=FATAL,
    also=(Category.CHASSIS, Category.POWER),
)
# A port that waits for a card which may never have been there: its slot says so at every boot.
PCIE.advice(
    "link_not_active",
    rf"{SPEAKER}(?:pciehp: )?(?:Slot\(\S{{1,12}}\): )?"
    r"(?:Data Link Layer Link Active not (?:set|cleared) in|Failed to check link status)",
    literals=("data link layer link active not ", "failed to check link status"),
    matches=(
        "pcieport 0000:5c:01.0: Data Link Layer Link Active not set in 1000 msec",
        "pcieport 0000:5c:01.0: pciehp: Slot(12): Failed to check link status",
    ),
    near_misses=("we failed to check link status of the page",),
    source=PCI,
    weak=True,
    traits=(Trait.GENERIC,),
)
PCIE.advice(
    "width",
    rf"{SPEAKER}(?P<has_gbs>[\d.]{{1,9}}) Gb/s available PCIe bandwidth, limited by "
    rf"(?P<speed>[\d.]{{1,5}} GT/s) PCIe (?P<width>x\d{{1,2}}) link at (?P<at>{BDF})"
    r"(?: \(capable of (?P<could_gbs>[\d.]{1,9}) Gb/s)?",
    literals=("pcie bandwidth, limited by",),
    matches=(
        "pci 0000:5d:00.0: 126.016 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x8 "
        "link at 0000:5c:01.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)",
    ),
    near_misses=(
        "mlx5_core 0000:5d:00.0: 252.048 Gb/s available PCIe bandwidth (16.0 GT/s PCIe x16 link)",
    ),
    source=PCI,
    also=(Category.CHASSIS,),
    weak=True,
)
PCIE.consequence(
    "power_state",
    rf"{SPEAKER}(?:Refused to change power state|"
    r"(?:can't|Unable to) change power state from (?P<state>D3\w{0,4}))",
    literals=("refused to change power state", "change power state from d3"),
    matches=(
        "nvidia 0000:5d:00.0: Refused to change power state, currently in D3",
        "nvidia 0000:5d:00.0: Unable to change power state from D3cold to D0, device inaccessible",
        "nvme 0000:5d:00.0: can't change power state from D3cold to D0 (config space inaccessible)",
    ),
    near_misses=("nvidia 0000:5d:00.0: power state changed by ACPI to D3cold",),
    source=PCI,
    also=(Category.POWER,),
)
PCIE.consequence(
    "not_ready",
    rf"{SPEAKER}not ready (?P<waited_ms>\d{{1,7}})ms after [\w>-]{{2,8}}(?: \w{{2,8}})?; "
    r"(?:waiting|giving up)",
    literals=(
        "ms after flr",
        "ms after bus reset",
        "ms after pm d3",
        "ms after dpc",
        "ms after resume",
    ),
    matches=(
        "nvidia 0000:5d:00.0: not ready 65535ms after FLR; giving up",
        "pci 0000:5d:00.0: not ready 1023ms after bus reset; waiting",
    ),
    near_misses=("pci 0000:5d:00.0: ready 1023ms after bus reset",),
    source=PCI,
    also=(Category.POWER,),
)

SIGNATURES = PCIE.signatures()
