"""Memory and processors of the node: machine checks, EDAC, firmware reports, poison, heat.

A corrected error is a warning however often it comes; the part to replace stands in
``fields["part"]`` where the platform names it.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Kind, Trait
from triage.signatures.family import ADVICE, BDF, CORRECTED, ERROR, FATAL, WARN, HostFamily, says
from triage.signatures.host.machine_check import category_of, severity_of
from triage.signatures.pci import full_address
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

MCE = "Linux: arch/x86 machine check"
EDAC = "Linux: drivers/edac"
CPER = "Linux: drivers/acpi/apei, firmware/efi/cper"


def machine_check(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The status word says more than the words around it."""
    status = int(match["status"], 16)
    severity = severity_of(status)
    if "exception" in says(match, "form") and severity == CORRECTED:
        severity = ERROR  # a corrected error raises no exception
    category = category_of(status)
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


UNITS = (
    ("unified memory controller", Category.HOST_MEMORY),
    ("memory controller", Category.HOST_MEMORY),
    ("dram ecc", Category.HOST_MEMORY),
    ("pcie", Category.IO_BOARD),
    ("nbio", Category.IO_BOARD),
)


def decoded_unit(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The unit of an AMD bank; what is no memory and no PCIe is the processor."""
    unit = says(match, "unit")
    category = next((one for words, one in UNITS if words in unit), Category.CPU)
    return Reading(category=category)


def edac(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Corrected or not, and the DIMM, unless its label says that nobody knows."""
    bad = match["class"].upper() == "UE"
    fields = {"severity": FATAL if bad else CORRECTED}
    label = (match["label"] or "").strip()
    if label and not label.startswith(("unknown", "any ")):
        fields["part"] = label
    return Reading(role=None if bad else ADVICE, weak=not bad, fields=fields)


SECTIONS = (
    ("memory", Category.HOST_MEMORY, ()),
    ("cxl", Category.HOST_MEMORY, (Category.IO_BOARD,)),
    ("pcie", Category.IO_BOARD, ()),
    ("pci ", Category.IO_BOARD, ()),
    ("dmar", Category.IO_BOARD, (Category.CPU,)),
    ("processor", Category.CPU, ()),
)
SECTION = re.compile(r"section[_ ]type: (?P<section>[^\n]{1,80})", re.IGNORECASE)
PART = re.compile(
    r"(?:DIMM location: (?!not present)|fru_text: )(?P<part>[^\n]{1,80})", re.IGNORECASE
)
DEVICE = re.compile(rf"device_id: (?P<device>{BDF})", re.IGNORECASE)
# What the firmware calls it, and the word for it here.
SEVERITIES = {"recoverable": ERROR, "fatal": FATAL, "corrected": CORRECTED, "info": WARN}


def of_section(section: str) -> tuple[Category, tuple[Category, ...]] | None:
    """The category of a section of a firmware report."""
    lowered = section.lower()
    for words, category, also in SECTIONS:
        if words in lowered:
            return category, also
    return None


def firmware(match: re.Match[str], after: Sequence[str]) -> Reading:
    """One report of the firmware: its severity here, its section in the lines behind it."""
    severity = SEVERITIES[says(match, "event_severity")]
    fields = {"severity": severity}
    block = "\n".join(after)
    # The next report is another event.
    block = re.split(r"event severity: ", block, maxsplit=1, flags=re.IGNORECASE)[0]
    section = SECTION.search(block)
    part = PART.search(block)
    if part is not None:
        fields["part"] = part["part"].strip()
    device = DEVICE.search(block)
    if device is not None:
        fields["device"] = full_address(device["device"]) or device["device"]
    known = None if section is None else of_section(section["section"])
    if section is not None:
        fields["section"] = section["section"].strip()
    mended = severity in (CORRECTED, WARN)
    role = ADVICE if mended else None
    if known is None:
        return Reading(role=role, weak=True, fields=fields)
    return Reading(category=known[0], also=known[1], role=role, weak=mended, fields=fields)


def section_line(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A section line that stands alone, as after a search for its words."""
    known = of_section(match["section"])
    if known is None:
        return Reading()
    return Reading(category=known[0], also=known[1])


def poison(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """What became of a bad page; a page that was thrown away in time hurts nobody."""
    what = says(match, "what")
    if "soft" in match[0].lower()[:40]:  # too many corrected errors: the page is given up in time
        return Reading(role=ADVICE, weak=True, fields={"severity": CORRECTED}, traits=frozenset())
    if "recovered" in what:
        return Reading(fields={"severity": CORRECTED})
    return Reading(fields={"severity": FATAL if "kill" in what or "sigbus" in what else ERROR})


PROCESSOR = HostFamily("cpu", Kind.CPU, category=Category.CPU)

PROCESSOR.root(
    "machine_check",
    r"CPU:? ?(?P<cpu>\d{1,5}):? ?Machine Check(?P<form> Exception| Event)?: (?:0x)?[0-9a-f]{1,4} "
    r"Bank (?P<bank>\d{1,3}): (?:0x)?(?P<status>[0-9a-f]{8,16})",
    literals=("machine check exception: ", "machine check: ", "machine check event: "),
    matches=(
        "mce: [Hardware Error]: CPU 33: Machine Check Exception: 5 Bank 1: bd80000000100134",
        "mce: [Hardware Error]: CPU 4: Machine Check: 0 Bank 13: cc00008000010091",
        "EDAC skx MC2: CPU 40: Machine Check Event: 0x0 Bank 17: 0x9c000040000000a0",
    ),
    near_misses=("mce: CPU0: Thermal monitoring enabled (TM1)", "Machine check: fine"),
    source=MCE,
    read=machine_check,
)
PROCESSOR.root(
    "context_corrupt",
    r"(?:Machine check: )?Processor context corrupt",
    literals=("processor context corrupt",),
    matches=("mce: [Hardware Error]: Machine check: Processor context corrupt",),
    near_misses=("the processor context is corrupt-free",),
    source=MCE,
    severity=FATAL,
    also=(Category.HOST_MEMORY,),
)
MEMORY = HostFamily("memory", Kind.MEMORY, category=Category.HOST_MEMORY)

MEMORY.advice(
    "checks_logged",
    r"Machine check events logged|CMCI storm detected",
    literals=("machine check events logged", "cmci storm detected"),
    matches=(
        "mce: [Hardware Error]: Machine check events logged",
        "mce: CMCI storm detected: switching to poll mode",
    ),
    near_misses=("no machine check events were logged", "MCE: In-kernel MCE decoding enabled."),
    source=MCE,
    severity=CORRECTED,
    also=(Category.CPU,),
    weak=True,
)
MEMORY.root(
    "edac_error",
    r"EDAC MC(?P<controller>\d{1,3}): (?P<errors>\d{1,9}) (?P<class>CE|UE) "
    r"(?P<what>[^\n(]{0,80}?)\bon (?P<label>[^\n(]{1,120}?) ?(?:\(|$)",
    literals=("edac mc",),
    matches=(
        "EDAC MC2: 1 CE memory read error on CPU_SrcID#0_MC#2_Chan#1_DIMM#0 (channel:1 slot:0"
        " page:0x1c0de offset:0x40 grain:32 syndrome:0x0)",
        "EDAC MC0: 1 UE memory scrubbing error on P0_DIMM_C1 (channel:2 slot:0 page:0x99)",
        "EDAC MC0: 2 CE on mc#0csrow#3channel#1 (csrow:3 channel:1 page:0x1)",
        "EDAC MC1: 1 UE on unknown memory (page:0x0 offset:0x0)",
    ),
    near_misses=(
        "EDAC MC: Ver: 3.0.0",
        "EDAC MC0: Giving out device to module skx_edac",
    ),
    source=EDAC,
    severity=CORRECTED,
    read=edac,
)
MEMORY.advice(
    "edac_block",
    r"EDAC \w{2,16} MC(?P<controller>\d{1,3}): HANDLING MCE MEMORY ERROR",
    literals=("handling mce memory error",),
    matches=("EDAC i10nm MC5: HANDLING MCE MEMORY ERROR",),
    near_misses=("handling mce memory error reports",),
    source=EDAC,
    severity=CORRECTED,
    weak=True,
)
MEMORY.noise(
    "edac_detail",
    r"(?:\[Hardware Error\]|EDAC \w{2,16} MC\d{1,3}): (?:TSC |PROCESSOR |MISC |ADDR )",
    literals=(": tsc ", ": processor 0:", ": processor 2:", ": misc ", ": addr "),
    matches=(
        "mce: [Hardware Error]: TSC 0 ADDR 1fd0a4c80 MISC 90000040001028c",
        "mce: [Hardware Error]: TSC 3bb72f6cfb0a ADDR fef89b80 MISC 7880000086",
        "EDAC skx MC2: PROCESSOR 0:0x606a6 TIME 1790000000 SOCKET 0 APIC 0x0",
    ),
    near_misses=("nic: misc interrupt", "x: processor 2: idle"),
    source=EDAC,
    category=Category.NONE,
)
MEMORY.advice(
    "amd_corrected",
    r"\[Hardware Error\]: (?:Corrected|Deferred) error, no action required",
    literals=(
        "corrected error, no action required",
        "deferred error, no action required",
    ),
    matches=("[Hardware Error]: Corrected error, no action required.",),
    near_misses=("Corrected error, no action required by the user",),
    source="Linux: drivers/edac/mce_amd",
    severity=CORRECTED,
    also=(Category.CPU,),
    weak=True,
)
PROCESSOR.root(
    "amd_uncorrected",
    r"\[Hardware Error\]: (?:Uncorrected(?: error)?, [a-z]|System Fatal error)",
    literals=(
        "uncorrected, software restartable",
        "uncorrected, software containable",
        "system fatal error",
        "uncorrected error, ",
    ),
    matches=(
        "[Hardware Error]: Uncorrected, software restartable error.",
        "[Hardware Error]: System Fatal error.",
    ),
    near_misses=("game: system fatal error",),
    source="Linux: drivers/edac/mce_amd",
    severity=FATAL,
    also=(Category.HOST_MEMORY,),
)
MEMORY.consequence(
    "amd_unit",
    r"\[Hardware Error\]: (?P<unit>[^\n:]{2,60}?) (?:Ext\.|Extended) Error Code: "
    r"(?P<number>\d{1,3})(?:, (?P<words>[^\n]{1,80}))?",
    literals=("ext. error code: ", "extended error code: "),
    matches=(
        "[Hardware Error]: Unified Memory Controller Ext. Error Code: 0, DRAM ECC error.",
        "[Hardware Error]: Load Store Unit Ext. Error Code: 9",
    ),
    near_misses=("driver: Extended Error Code: 3",),
    source="Linux: drivers/edac/mce_amd",
    severity=WARN,
    category=Category.CPU,
    read=decoded_unit,
)
MEMORY.root(
    "firmware_report",
    r"\[Hardware Error\]: event severity: (?P<event_severity>corrected|recoverable|fatal|info)",
    literals=("event severity: ",),
    matches=(
        "{4}[Hardware Error]: event severity: recoverable",
        "{1}[Hardware Error]: event severity: corrected",
    ),
    near_misses=("alert: event severity: fatal",),
    source=CPER,
    also=(Category.CPU, Category.IO_BOARD),
    context=24,
    read=firmware,
)
MEMORY.consequence(
    "firmware_section",
    r"section_type: (?P<section>[^\n]{2,80})",
    literals=("section_type: ",),
    matches=(
        "{4}[Hardware Error]:  Error 0, section_type: memory error",
        "{4}[Hardware Error]:   section_type: PCIe error",
    ),
    near_misses=("section_types: 4",),
    source=CPER,
    severity=WARN,
    category=None,
    read=section_line,
)
MEMORY.consequence(
    "firmware_dimm",
    r"\[Hardware Error\]:\s{1,8}DIMM location: (?!not present)(?P<part>[^\n]{2,80})",
    literals=("dimm location: ",),
    matches=("{4}[Hardware Error]:   DIMM location: NODE 3 DIMM_F1",),
    near_misses=("{4}[Hardware Error]:   DIMM location: not present. DMI handle: 0x0000",),
    source=CPER,
    severity=WARN,
)
MEMORY.noise(
    "firmware_detail",
    r"\{\d{1,9}\}\[Hardware Error\]: |BERT: Error records from previous boot",
    literals=("}[hardware error]: ", "bert: error records from previous boot"),
    matches=(
        "{4}[Hardware Error]:   physical_address: 0x0000001c0de40",
        "BERT: Error records from previous boot:",
    ),
    near_misses=("BERT: model loaded",),
    source=CPER,
    category=Category.NONE,
)
MEMORY.root(
    "poison_access",
    r"Uncorrected hardware memory error in user-access at (?P<address>[0-9a-fx]{1,20})",
    literals=("uncorrected hardware memory error in user-access",),
    matches=("mce: Uncorrected hardware memory error in user-access at 1c0de40",),
    near_misses=("an uncorrected hardware memory error in user-access paths is rare",),
    source=MCE,
    severity=FATAL,
)
MEMORY.consequence(
    "poison",
    r"(?:Memory failure: 0x[0-9a-f]{1,16}: (?P<what>[^\n]{0,20}(?:Kill\w*|SIGBUS to) "
    r"(?P<task>[^\n]{1,64}?):(?P<pid>\d{1,9}) due to[^\n]{0,60}|[^\n]{1,120})"
    r"|MCE: Killing (?P<victim>[^\n]{1,64}?):(?P<victim_pid>\d{1,9}) due to hardware memory"
    r"|Soft-offlining pfn|Soft offline: 0x)",
    literals=(
        "memory failure: 0x",
        "due to hardware memory corruption",
        "soft-offlining",
        "soft offline: 0x",
    ),
    matches=(
        "Memory failure: 0x1c0de: recovery action for dirty LRU page: Recovered",
        "Memory failure: 0x1c0de: Killing python3:88123 due to hardware memory corruption",
        "Memory failure: 0x1c0de: Sending SIGBUS to rank0:88123 due to hardware memory corruption",
        "MCE: Killing python3:88123 due to hardware memory corruption fault at 7f00c0de",
    ),
    near_misses=("Memory failure: handling is enabled",),
    source="Linux: mm/memory-failure",
    read=poison,
    traits=(Trait.ROOT_WHEN_ALONE,),
)
PROCESSOR.noise(
    "cool_again",
    r"CPU(?P<cpu>\d{1,5}): (?:Core|Package) temperature/speed normal|CMCI storm subsided",
    literals=("temperature/speed normal", "cmci storm subsided"),
    matches=("mce: CPU40: Package temperature/speed normal", "mce: CMCI storm subsided: switching"),
    near_misses=("fan: temperature/speed normal",),
    source=MCE,
    category=Category.NONE,
    kind=Kind.THERMAL,
    read=lambda _match, _after: Reading(fields={"cleared": "yes"}),
)
PROCESSOR.root(
    "throttled",
    r"CPU(?P<cpu>\d{1,5}): (?P<reach>Core|Package) temperature above threshold, cpu clock"
    r" throttled(?: \(total events = (?P<events>\d{1,12})\))?",
    literals=("temperature above threshold",),
    matches=(
        "mce: CPU40: Package temperature above threshold, cpu clock throttled (total events = 9)",
        "CPU7: Core temperature above threshold, cpu clock throttled (total events = 1)",
    ),
    near_misses=("mlx5: temperature above threshold",),
    source=MCE,
    severity=WARN,
    also=(Category.CHASSIS,),
    weak=True,
    kind=Kind.THERMAL,
)
PROCESSOR.advice(
    "power_limited",
    r"CPU(?P<cpu>\d{1,5}): (?:Core|Package) power limit (?:notification|normal)",
    literals=("power limit notification", "power limit normal"),
    matches=(
        "CPU7: Package power limit notification (total events = 12)",
        "CPU7: Core power limit normal",
    ),
    near_misses=("the power limit notification was sent",),
    source=MCE,
    weak=True,
    kind=Kind.POWER,
)
PROCESSOR.root(
    "too_hot",
    r"thermal[^\n]{0,60}: critical temperature reached ?\((?P<degrees>\d{1,4}) ?C\)",
    literals=("critical temperature reached",),
    matches=("thermal thermal_zone0: critical temperature reached(108 C),shutting down",),
    near_misses=("no critical temperature reached",),
    source="Linux: drivers/thermal",
    severity=FATAL,
    also=(Category.CHASSIS,),
    kind=Kind.THERMAL,
)
PROCESSOR.root(
    "system_error",
    r"NMI: (?:PCI system|IOCK) error",
    literals=("nmi: pci system error", "nmi: iock error"),
    matches=("NMI: PCI system error (SERR) for reason a1 on CPU 0.",),
    near_misses=("perf: interrupt took too long",),
    source="Linux: arch/x86/kernel/nmi",
    severity=WARN,
    category=Category.IO_BOARD,
    also=(Category.HOST_MEMORY, Category.CPU),
    weak=True,
)
# Counters of a profiler leave such interrupts behind.
PROCESSOR.advice(
    "unknown_nmi",
    r"NMI received for unknown reason (?P<reason>[0-9a-f]{2})|Dazed and confused, but trying"
    r"|Do you have a strange power saving mode",
    literals=("nmi received for unknown reason", "dazed and confused", "strange power saving mode"),
    matches=(
        "Uhhuh. NMI received for unknown reason 3d on CPU 12.",
        "Dazed and confused, but trying to continue",
    ),
    near_misses=("NMI watchdog: enabled", "I was dazed and confused by the log"),
    source="Linux: arch/x86/kernel/nmi",
    category=Category.IO_BOARD,
    also=(Category.HOST_MEMORY, Category.CPU),
    weak=True,
    traits=(Trait.GENERIC,),
)
PROCESSOR.noise(
    "clock_unstable",
    r"Marking (?:clocksource '(?P<clock_name>\w{1,20})' as|TSC) unstable",
    literals=("marking clocksource", "marking tsc unstable"),
    matches=(
        "clocksource: timekeeping watchdog on CPU8: Marking clocksource 'tsc' as unstable because",
        "tsc: Marking TSC unstable due to check_tsc_sync_source failed",
    ),
    near_misses=("marking clocksource stable",),
    source="Linux: kernel/time/clocksource",
    severity=WARN,
    category=Category.NONE,
)

SIGNATURES = (*PROCESSOR.signatures()[:1], *MEMORY.signatures(), *PROCESSOR.signatures()[1:])
