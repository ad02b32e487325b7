"""Machine checks as others print them: AMD's decoder, old EDAC, mcelog and rasdaemon.

One error is told by up to a dozen lines. The line with the status word carries the
verdict; the address, the syndrome and the words around it only repeat it.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Kind
from triage.signatures.family import ADVICE, CORRECTED, ERROR, FATAL, WARN, HostFamily, says
from triage.signatures.host.machine_check import category_of, severity_of
from triage.signatures.signature import Reading, Scope

__all__ = ["SIGNATURES"]

AMD = "Linux: drivers/edac/mce_amd"
MCE = "Linux: arch/x86 machine check"
EDAC = "Linux: drivers/edac"
MCELOG = "mcelog: its decoder and triggers"
RASDAEMON = "rasdaemon: the printers of its events"
BOTH = (Category.HOST_MEMORY, Category.CPU)
# AMD's unified memory controllers report a DRAM error by these low words of the status.
AMD_DRAM = re.compile(r"011b$|080[0-9a-f]$|081[0-9a-f]$", re.IGNORECASE)


def other(category: Category) -> tuple[Category, ...]:
    """What a machine check may be besides its first reading."""
    return tuple(one for one in BOTH if one is not category)


def graded(category: Category, severity: str, **fields: str) -> Reading:
    """A check of a category; what was corrected only informs."""
    mended = severity in (CORRECTED, WARN)
    return Reading(
        category=category,
        also=other(category),
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
    dram = AMD_DRAM.search(match["status"]) is not None
    return graded(Category.HOST_MEMORY if dram else Category.CPU, severity, bank=match["bank"])


def edac_before(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Corrected or not, as EDAC printed it up to kernel 3.4, and the DIMM."""
    severity = FATAL if match["class"].upper() == "UE" else CORRECTED
    part = (match["label"] or "").strip(' ":')
    return graded(Category.HOST_MEMORY, severity, **({"part": part} if part else {}))


def edac_device(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Caches and buses that EDAC watches beside the memory."""
    return graded(Category.CPU, FATAL if match["class"].upper() == "UE" else CORRECTED)


def counted(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Corrected or not, by the daemon's own word, and by the status word where one is printed."""
    said = says(match, "said")
    status = says(match, "status")
    uncorrected = said.startswith(("uncorrected", "fatal"))
    if status:
        word = int(status, 16)
        severity = severity_of(word)
        if uncorrected and severity == CORRECTED:
            severity = ERROR
        return graded(category_of(word), severity)
    return graded(Category.HOST_MEMORY, FATAL if uncorrected else CORRECTED)


def bus_error(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A PCIe error that the daemon saw."""
    said = says(match, "said")
    if said.startswith("correct"):
        return Reading(role=ADVICE, weak=True, fields={"severity": CORRECTED})
    return Reading(fields={"severity": ERROR if "non" in said else FATAL})


PROCESSOR = HostFamily("cpu", Kind.CPU, category=Category.CPU)

PROCESSOR.root(
    "amd_status",
    r"\[Hardware Error\]: CPU:?\s?(?P<cpu>\d{1,5}) ?(?:\([0-9a-f:]{3,12}\) )?"
    r"MC(?P<bank>\d{1,3})_STATUS\[(?P<flags>[\w|-]{1,120})\]: 0x(?P<status>[0-9a-f]{8,16})",
    literals=("_status[",),
    matches=(
        "[Hardware Error]: CPU:16 (17:31:0) MC17_STATUS[Over|CE|MiscV|AddrV|-|-|SyndV|CECC|-|-|-]:"
        " 0xdc2040000000011b",
        "[Hardware Error]: CPU:3 (19:1:1) MC0_STATUS[-|UE|MiscV|AddrV|PCC|-|TCC|SyndV|-|-|-|-]:"
        " 0xbea0000001000108",
    ),
    near_misses=(
        "[Hardware Error]: MC17_STATUS is clear",
        "app: MC0_STATUS[UE]: 0xbea0000001000108",
    ),
    source=AMD,
    read=amd_status,
)
PROCESSOR.root(
    "amd_reset_required",
    r"\[Hardware Error\]: Fatal error, reset required",
    literals=("fatal error, reset required",),
    matches=("[Hardware Error]: Fatal error, reset required.",),
    near_misses=("raid: fatal error, reset required",),
    source=AMD,
    severity=FATAL,
    also=(Category.HOST_MEMORY,),
)
PROCESSOR.root(
    "unrecoverable",
    r"\[Hardware Error\]: Machine check: (?:Data load in unrecoverable area"
    r"|Instruction fetch error in unrecoverable|Action required: |Uncorrected)"
    r"|mce: CPUs not responding to MCE broadcast"
    r"|\[Hardware Error\]: Some CPUs didn't answer in synchronization",
    literals=(
        "data load in unrecoverable area",
        "instruction fetch error in unrecoverable",
        "action required: ",
        "machine check: uncorrected",
        "not responding to mce broadcast",
        "didn't answer in synchronization",
    ),
    matches=(
        "mce: [Hardware Error]: Machine check: Data load in unrecoverable area of kernel",
        "mce: [Hardware Error]: Machine check: Action required: unknown MCACOD",
        "mce: CPUs not responding to MCE broadcast (may include false positives): 1,3-7",
    ),
    near_misses=(
        "backup: action required: confirm",
        "mce: [Hardware Error]: Machine check events logged",
    ),
    source=MCE,
    severity=FATAL,
    also=(Category.HOST_MEMORY,),
)
PROCESSOR.noise(
    "check_detail",
    r"\[Hardware Error\]: (?:RIP |Run the above through|Error Addr: |IPID: "
    r"|cache level: |Physical address: |Syndrome: |PPIN: )|Disabling lock debugging due to MCE",
    literals=(
        "error]: rip ",
        "error]: run the above through",
        "error]: error addr: ",
        "error]: ipid: ",
        "error]: cache level: ",
        "error]: physical address: ",
        "error]: syndrome: ",
        "error]: ppin: ",
        "disabling lock debugging due to mce",
    ),
    matches=(
        "mce: [Hardware Error]: RIP !INEXACT! 10:<ffffffff8ba3b0a4> {intel_idle+0x84/0x130}",
        "[Hardware Error]: cache level: L3/GEN, tx: GEN, mem-tx: RD",
        "[Hardware Error]: IPID: 0x0000009600350f00, Syndrome: 0x9f1e000b0a801001",
    ),
    near_misses=("[Hardware Error]: System Fatal error.", "gdb: RIP at the fault"),
    source=MCE,
    category=Category.NONE,
)
MEMORY = HostFamily("memory", Kind.MEMORY)

MEMORY.advice(
    "amd_dram",
    r"\[Hardware Error\]: MC\d{1,2} Error(?: \(node \d{1,3}\))?: DRAM ECC error detected",
    literals=("dram ecc error detected",),
    matches=("[Hardware Error]: MC4 Error (node 0): DRAM ECC error detected on the NB.",),
    near_misses=("no DRAM ECC error detected",),
    source=AMD,
    severity=CORRECTED,
    category=Category.HOST_MEMORY,
    weak=True,
)
MEMORY.root(
    "edac_before_34",
    r"(?<!syncing: )EDAC MC(?P<controller>\d{1,3}): (?P<class>CE|UE) "
    r"(?:page 0x[0-9a-f]{1,16}|row \d{1,4})"
    r'[^\n"]{0,160}(?:"(?P<label>[^"\n]{0,100})")?',
    literals=(": ce page 0x", ": ue page 0x", ": ce row ", ": ue row "),
    matches=(
        "EDAC MC0: CE page 0x12345, offset 0x0, grain 0, syndrome 0x0, row 2, channel 1, label"
        ' "CPU_SrcID#0_Channel#1_DIMM#0": Unknown',
        'EDAC MC0: UE page 0x12345, offset 0x0, grain 0, row 2, labels ":": amd64_edac',
    ),
    near_misses=("EDAC MC0: Giving out device to module sb_edac", "EDAC MC0: CE rows are counted"),
    source=EDAC,
    category=Category.HOST_MEMORY,
    read=edac_before,
)
MEMORY.root(
    "edac_device",
    r"EDAC DEVICE\d{1,3}: (?P<class>CE|UE): ",
    literals=("edac device",),
    matches=(
        "EDAC DEVICE0: UE: cache instance: cpu0 block: L2 count: 1 'L2 error'",
        "EDAC DEVICE0: CE: cache instance: cpu0 block: L2 count: 1 'L2 error'",
    ),
    near_misses=("EDAC DEVICE0: Giving out device to module x",),
    source=EDAC,
    category=Category.CPU,
    read=edac_device,
)
MEMORY.advice(
    "edac_bus",
    r"EDAC PCI\d{1,3}: [^\n]{0,60}Parity Error|EDAC PCI: [^\n]{0,40}(?:Parity|SERR)",
    literals=("edac pci",),
    matches=("EDAC PCI0: Bridge Detected Parity Error on 0000:00:1e.0",),
    near_misses=("EDAC PCI0: Giving out device to module e7xxx_edac",),
    source=EDAC,
    category=Category.IO_BOARD,
    weak=True,
)
MEMORY.consequence(
    "firmware_kind",
    r"\[Hardware Error\]:\s{1,8}(?:error_type: \d{1,3}, multi-bit ECC"
    r"|Error \d{1,3}, type: (?:fatal|recoverable))",
    literals=("multi-bit ecc", "type: fatal", "type: recoverable"),
    matches=(
        "{3}[Hardware Error]:   error_type: 3, multi-bit ECC",
        "{3}[Hardware Error]:  Error 0, type: fatal",
    ),
    near_misses=(
        "{3}[Hardware Error]:   error_type: 2, single-bit ECC",
        "{3}[Hardware Error]:  Error 0, type: corrected",
    ),
    source="Linux: drivers/firmware/efi/cper",
    severity=WARN,
    category=None,
    read=lambda match, _after: Reading(
        category=Category.HOST_MEMORY if "multi-bit" in match[0].lower() else None
    ),
)
MEMORY.root(
    "firmware_before_49",
    r"\[Hardware Error\]: ?severity: \d{1,2}, (?P<said>corrected|recoverable|fatal|info)",
    literals=("error]: severity: ", "error]:severity: "),
    matches=(
        "{1}[Hardware Error]: severity: 2, corrected",
        "{1}[Hardware Error]:severity: 1, fatal",
    ),
    near_misses=("{1}[Hardware Error]: event severity: corrected",),
    source="Linux: drivers/acpi/apei up to 4.9",
    category=Category.HOST_MEMORY,
    also=(Category.CPU, Category.IO_BOARD),
    read=lambda match, _after: (
        Reading(role=ADVICE, weak=True, fields={"severity": CORRECTED})
        if says(match, "said") in ("corrected", "info")
        else Reading(fields={"severity": FATAL if says(match, "said") == "fatal" else ERROR})
    ),
)
MEMORY.root(
    "mcelog_status",
    r"STATUS (?P<status>[0-9a-f]{8,16}) MCGSTATUS",
    literals=("mcgstatus",),
    matches=(
        "mcelog: STATUS bd80000000100134 MCGSTATUS 7",
        "mcelog[1203]: STATUS 8c00004000010090 MCGSTATUS 0",
    ),
    near_misses=("mcelog: MCGSTATUS is printed",),
    source=MCELOG,
    category=Category.HOST_MEMORY,
    scope=Scope.ANY,
    read=lambda match, _after: graded(
        category_of(int(match["status"], 16)), severity_of(int(match["status"], 16))
    ),
)
MEMORY.root(
    "mcelog_uncorrected",
    r"mcelog(?:\[\d{1,9}\])?: (?:MCi_STATUS|MCGSTATUS)?:? ?"
    r"(?:Uncorrected error|Processor context corrupt)\s*$",
    literals=("uncorrected error", "processor context corrupt"),
    matches=("mcelog: Uncorrected error", "mcelog[1422]: Processor context corrupt"),
    near_misses=("mcelog: uncorrected error triggers are enabled",),
    source=MCELOG,
    severity=FATAL,
    category=Category.CPU,
    also=(Category.HOST_MEMORY,),
    scope=Scope.ANY,
)
MEMORY.advice(
    "mcelog_corrected",
    r"mcelog(?:\[\d{1,9}\])?: (?:Hardware event\. This is not a software error|Corrected error"
    r"|MEMORY CONTROLLER \w{2,4}_CHANNEL"
    r"|(?:Fallback )?(?:Socket )?memory error count \d{1,12} exceeded|Location SOCKET:)",
    literals=(
        "hardware event. this is not a software error",
        "mcelog: corrected error",
        "]: corrected error",
        "memory controller ",
        "memory error count ",
        "mcelog: location ",
    ),
    matches=(
        "mcelog[1203]: Hardware event. This is not a software error.",
        "mcelog: MEMORY CONTROLLER RD_CHANNEL2_ERR",
        "mcelog[1422]: Fallback Socket memory error count 512 exceeded threshold: 10 in 24h",
    ),
    near_misses=("mcelog: daemon started", "the memory controller of the laptop"),
    source=MCELOG,
    severity=CORRECTED,
    category=Category.HOST_MEMORY,
    also=(Category.CPU,),
    weak=True,
    scope=Scope.ANY,
)
MEMORY.root(
    "ras_check",
    r"\bmce_record:? [^\n]{0,200}?status= ?(?:0x)?(?P<status>[0-9a-f]{8,16}), ?"
    r"(?P<said>(?:Uncorrected|Fatal|Corrected|Deferred)\b)?",
    literals=("mce_record",),
    matches=(
        "rasdaemon[2211]: <...>-9 [004] 0.000099 mce_record 2026-03-04 11:12:13 +0000 bank=1,"
        " status= bd80000000100134, Uncorrected error, software recoverable",
        "rasdaemon: <...>-9 [004] 0.000099: mce_record: 2026-03-04 11:12:13 +0000 bank=13, status="
        " 9c00000001010090, Corrected error, mci=Corrected_error",
    ),
    near_misses=(
        "rasdaemon: ras:mce_record event enabled",
        "rasdaemon: mce_record store: 0x55d1c0de",
    ),
    source=RASDAEMON,
    category=Category.CPU,
    also=(Category.HOST_MEMORY,),
    scope=Scope.ANY,
    read=counted,
)
MEMORY.root(
    "ras_memory",
    r"\b(?:mc_event|extlog_event) 2[^\n]{0,40}? \d{1,9} "
    r"(?P<said>Corrected|Uncorrected|Fatal|Deferred) errors?:(?P<status>)",
    literals=("mc_event 2", "memory error: ", "extlog_event"),
    matches=(
        "rasdaemon[2211]: <...>-301 [000] 0.000001 mc_event 2026-03-04 11:12:13 +0000 1 Corrected"
        " error: memory read error on CPU_SrcID#0_MC#1_Chan#0_DIMM#0 (mc: 1 location: 0:0)",
        "rasdaemon[2211]: <...>-301 [000] 0.000001 mc_event 2026-03-04 11:12:13 +0000 1"
        " Uncorrected error: memory scrubbing error on CPU_SrcID#0_MC#1_Chan#0_DIMM#0 (mc: 1)",
    ),
    near_misses=("rasdaemon: Recording mc_event events",),
    source=RASDAEMON,
    category=Category.HOST_MEMORY,
    scope=Scope.ANY,
    read=counted,
)
MEMORY.root(
    "ras_bus",
    r"\baer_event:? [^\n]{0,80}?PCIe Bus Error: severity="
    r"(?P<said>(?:Un)?correct(?:ed|able)(?: ?\((?:Non-?)?Fatal\))?|Fatal|Non-?Fatal)",
    literals=("aer_event",),
    matches=(
        "rasdaemon[9]: <...>-1 [000] 0.01 aer_event 2026-03-04 11:12:13 +0000 0000:5d:00.0 PCIe Bus"
        " Error: severity=Uncorrected (Fatal), Data Link Protocol",
    ),
    near_misses=("rasdaemon: ras:aer_event event enabled",),
    source=RASDAEMON,
    category=Category.IO_BOARD,
    kind=Kind.PCIE,
    scope=Scope.ANY,
    read=bus_error,
)
MEMORY.noise(
    "daemon_chatter",
    r"rasdaemon(?:\[\d{1,9}\])?: (?:rasdaemon: )?(?:ras:\w{2,40} event enabled"
    r"|Can't get traces from ras:|Recording \w{2,40} events|mce_record store"
    r"|Enabled event ras:|ras:\w{2,40} event)"
    r"|mcelog(?:\[\d{1,9}\])?: (?:failed to prefill DIMM database"
    r"|ERROR: AMD Processor family|Kernel does not support page offline)",
    literals=(
        "rasdaemon: ras:",
        "event enabled",
        "can't get traces from ras:",
        "_event events",
        "mce_record store",
        "failed to prefill dimm database",
        "mcelog: error: amd processor",
        "does not support this processor",
        "kernel does not support page offline",
    ),
    matches=(
        "rasdaemon[2211]: ras:mc_event event enabled",
        "rasdaemon[2211]: Can't get traces from ras:aer_event",
        "mcelog[1203]: failed to prefill DIMM database from DMI data",
        "mcelog: ERROR: AMD Processor family 25: mcelog does not support this processor.",
    ),
    near_misses=(
        "rasdaemon: mc_event: 1 Uncorrected error: x on y (mc: 0)",
        "the event enabled it",
    ),
    source=RASDAEMON,
    category=Category.NONE,
    scope=Scope.ANY,
)

SIGNATURES = (*MEMORY.signatures(), *PROCESSOR.signatures())
