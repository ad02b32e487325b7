"""Xid: the error numbers that the NVIDIA GPU driver prints into the kernel log.

``NVRM: Xid (ADDRESS): CODE[, pid=P, name=N][, text][ caused by previous Xid M]``. The code says
most, the text behind it may say better: where the memory is (stacked DRAM or on-chip SRAM), which
line of a burst is the event and which only repeats it, which link and which far end, and what the
driver advises. One reader a group of codes; a code without a reader means its catalogue row. The
pid is a number of the host, not of a container.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from triage.domain.category import Category
from triage.domain.evidence import Blame, EvidenceRole, Trait
from triage.domain.patterns import compile_re
from triage.signatures.gpu import catalogue
from triage.signatures.pci import normalize_bus_id
from triage.signatures.signature import Reading

_Reader = Callable[[str, Sequence[str]], Reading]


def _find_fields(text: str, *patterns: "re.Pattern[str]") -> dict[str, str]:
    """What the groups of these patterns hold, of those that are found."""
    found = (pattern.search(text) for pattern in patterns)
    return {
        name: value
        for match in found
        if match is not None
        for name, value in match.groupdict().items()
        if value
    }


# "a", "a partition p" alone also stands behind an L2 slice, so the plain word comes last.
_DRAM_WORDS = compile_re(r"\b(?:framebuffer|FBPA\w*|HBM\w*|DRAM|row remapper|FB)\b", re.IGNORECASE)
_SRAM_WORDS = compile_re(
    r"\b(?:S-?RAM|LTC\w*|L2|L1\w*|SM\w?|GPC\w*|TPC\w*|FECS|GCC|RISC-?V|MMU|GMMU|"
    r"icache|register file|ROP|PMU|GSP|SEC2|NVDEC\w*)\b",
    re.IGNORECASE,
)
_PARTITION = compile_re(r"\bpartition\b", re.IGNORECASE)


def find_memory_unit(text: str) -> Category | None:
    """Stacked memory or on-chip memory, None where no word says which."""
    if _DRAM_WORDS.search(text):
        return Category.GPU_HBM
    if _SRAM_WORDS.search(text):
        return Category.GPU_SRAM
    return Category.GPU_HBM if _PARTITION.search(text) else None


# An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at
# partition 6, subpartition 0.   then for each channel:   pid=4711, name=python, Ch 00000010
_CHANNEL_ONLY = compile_re(r"(?:Ch|channel|ChID|Channel ID) (?:0x)?[0-9a-f]+\b", re.IGNORECASE)


def ecc(text: str, _after: Sequence[str]) -> Reading:
    """48, 171, 172: the event itself, then one line for each channel that it took along."""
    unit = find_memory_unit(text)
    if unit is None and _CHANNEL_ONLY.match(text):
        return Reading(role=EvidenceRole.CONSEQUENCE)
    return Reading(category=unit)


# Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No
_CONTAINMENT = compile_re(
    r"(?P<containment>Contained|Uncontained): ?(?P<unit>[^(.]{1,40}?) ?"
    r"(?:\((?P<location>[^)]{0,40})\))?(?:\. ?RST: ?(?P<reset>\w+))?(?:, ?D-RST: ?(?P<drain>\w+))?"
    r"(?:$|[.,]| )",
    re.IGNORECASE,
)


def _blast(text: str, _after: Sequence[str]) -> Reading:
    """94, 95: how far an uncorrectable error reached, and the unit that met it."""
    match = _CONTAINMENT.search(text)
    if match is None and _CHANNEL_ONLY.match(text):
        return Reading(role=EvidenceRole.CONSEQUENCE)
    if match is None:
        return Reading(category=find_memory_unit(text))
    unit = find_memory_unit(match["unit"])
    # A unit on the chip may have read what DRAM held: without a 48 both stand.
    also = (Category.GPU_HBM,) if unit is Category.GPU_SRAM else ()
    return Reading(category=unit, also=also, fields=_find_fields(text, _CONTAINMENT))


# Row Remapper: New row (0x00000000abcd1234) marked for remapping, reset gpu to activate.
_ROW = compile_re(r"\((?P<row>0x[0-9a-f]+)\)", re.IGNORECASE)


def retirement(text: str, _after: Sequence[str]) -> Reading:
    """63, 64: a bad row or page was booked, or could not be."""
    return Reading(category=find_memory_unit(text), fields=_find_fields(text, _ROW))


# An uncorrectable ECC error detected (possible firmware handling failure) DRAM:-3, LTC:0, ...
_COUNTER = compile_re(r"\b(DRAM|LTC|MMU|PCIE)[:=] ?(-?\d{1,10})")
_COUNTED = {
    "DRAM": Category.GPU_HBM,
    "LTC": Category.GPU_SRAM,
    "MMU": Category.GPU_SRAM,
    "PCIE": Category.IO_BOARD,
}


def _escaped_ecc(text: str, _after: Sequence[str]) -> Reading:
    """140: the counters that are not zero say where."""
    counts = {name: int(value) for name, value in _COUNTER.findall(text)}
    hit = [
        _COUNTED[name] for name in sorted(counts, key=lambda one: -abs(counts[one])) if counts[name]
    ]
    places = tuple(dict.fromkeys(hit))
    fields = {name.lower(): str(value) for name, value in counts.items()}
    if not places:
        return Reading(fields=fields)
    return Reading(category=places[0], also=places[1:], fields=fields)


# Graphics SM Warp Exception on (GPC 7, TPC 7, SM 0): Illegal Instruction Parameter
_SM_PLACE = compile_re(
    r"(?P<reach>Warp|Global) Exception on \("
    r"(?P<place>GPC \d+, TPC \d+(?:, SM \d+)?)\)(?:: (?P<reason>.{1,80}))?"
)
_REGISTERS = compile_re(r"ESR (?:0x)?[0-9a-f]+=", re.IGNORECASE)
# A line with the registers of a whole SM may stand alone; one with a single register never does.
_WHOLE_SM = 3


def graphics(text: str, _after: Sequence[str]) -> Reading:
    """13: the first line of a burst is the fault, what only adds registers follows it."""
    match = _SM_PLACE.search(text)
    if match is not None:
        follows = match["reach"] == "Global"
    elif _REGISTERS.search(text):
        follows = text.count("=") < _WHOLE_SM
    else:
        follows = "ChID" in text
    role = EvidenceRole.CONSEQUENCE if follows else None
    return Reading(role=role, fields=_find_fields(text, _SM_PLACE))


# intr 00000000. MMU Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_3 faulted @ 0x7f52_8a8b9000.
# Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ
_FAULT = compile_re(
    r"ENGINE (?P<engine>[A-Z]\w{1,30}) "
    r"(?:\w{1,12} )?(?P<client>\w{1,40}) faulted @ (?P<at>\w{1,40})"
)
_FAULT_TYPE = compile_re(r"of type (?P<fault>FAULT_\w{1,40}) (?P<access>ACCESS_\w{1,40})")


def _mmu(text: str, after: Sequence[str]) -> Reading:
    """31: a bad address of the program, unless no client of the GPU owns it."""
    whole = " ".join((text, *after)) if "Fault is of type" not in text else text
    fields = _find_fields(whole, _FAULT, _FAULT_TYPE)
    if "UNRECOGNIZED_CLIENT" in text:
        return Reading(
            category=Category.GPU,
            also=(Category.SOFTWARE_USER, Category.SOFTWARE_FRAMEWORK),
            fields={**fields, "client": "UNRECOGNIZED_CLIENT"},
        )
    return Reading(fields=fields)


# NVLink: fatal error detected on link 7(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)
# NVLink: failed to train link 11 to remote PCI:0000:4b:00
_LINK = compile_re(
    r"\blink (?P<link>-?\d{1,3})\b ?(?:\((?P<registers>0x[0-9a-fx, ]{1,120})\)?)?", re.IGNORECASE
)
_REMOTE = compile_re(
    r"remote (?:PCI:)?(?P<remote>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2})", re.IGNORECASE
)


def nvlink(text: str, _after: Sequence[str]) -> Reading:
    """74, 136, 137 and the like: which link, and the far end where it is named."""
    fields = _find_fields(text, _LINK)
    remote = _REMOTE.search(text)
    if remote is None:
        return Reading(fields=fields)
    return Reading(peer=normalize_bus_id(remote["remote"]), blame=Blame.PAIR, fields=fields)


# NETIR_LINK_EVT Fatal XC0 i0 Link 07 (0x004505c6 0x00000000 0x0 0x0 0x0 0x0)
# Link -1 is the whole chip.
_NVLINK5 = compile_re(
    r"(?P<unit>[A-Z][A-Z0-9_]{1,30}) (?P<said>Fatal|Nonfatal|Non-fatal) (?P<cause>XC\d) "
    r"(?P<injected>i\d) Link (?P<link>-?\d{1,3})"
    r"(?: ?\((?P<words>(?:0x)?[0-9a-f]{1,8}[0-9a-fx ,]{0,100}))?",
    re.IGNORECASE,
)


def _nvlink5(text: str, _after: Sequence[str]) -> Reading:
    """144 to 150: the printed unit decides; both layouts of its number are kept.

    The first word holds the unit in bits 9:5 before R575 and in bits 6:0 from there;
    a line does not say which driver printed it.
    """
    match = _NVLINK5.search(text)
    if match is None:
        return Reading()
    fields = _find_fields(text, _NVLINK5)
    first = re.match(r"(?:0x)?([0-9a-f]{1,8})", fields.get("words", ""), re.IGNORECASE)
    if first is not None:
        value = int(first[1], 16)
        fields["unit_before_r575"] = str(value >> 5 & 0x1F)
        fields["unit_from_r575"] = str(value & 0x7F)
    fatal = match["said"].lower() == "fatal"
    fields["said"] = "fatal" if fatal else "nonfatal"
    fields["severity"] = "fatal" if fatal else "warn"
    return Reading(weak=not fatal, fields=fields)


# Timeout waiting for RPC from GSP1! Expected function 76 (GSP_RM_CONTROL) (0x20800a4c 0x4).
# Timeout after 6s of waiting for RPC response from GPU3 GSP! Expected function 76 (GSP_RM_CONTROL)
_RPC = compile_re(
    r"(?:GSP(?P<gsp_old>\d{0,2})|GPU(?P<gsp_new>\d{1,2}) GSP)! ?"
    r"Expected function (?P<function>\d{1,5}) ?"
    r"(?:\((?P<function_name>\w{1,60})\))?"
)
_WAITED = compile_re(r"Timeout after (?P<waited_s>\d{1,5}) ?s")


def gsp(text: str, _after: Sequence[str]) -> Reading:
    """119: the call that got no answer."""
    found = _find_fields(text, _RPC, _WAITED)
    fields = {
        "function": found.get("function_name") or found.get("function"),
        "gsp": found.get("gsp_new") or found.get("gsp_old"),
        "waited_s": found.get("waited_s"),
    }
    return Reading(fields={name: value for name, value in fields.items() if value})


# GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)
_ADVICE = compile_re(
    r"recovery action changed from (?P<old_value>0x[0-9a-f]+|\d+) ?\((?P<old>[^)]{0,40})\) "
    r"to (?P<new_value>0x[0-9a-f]+|\d+) ?\((?P<new>[^)]{0,40})\)?",
    re.IGNORECASE,
)


def advice(text: str, _after: Sequence[str]) -> Reading:
    """154: the driver's advice, old and new; a change back to None leaves no ``action``."""
    match = _ADVICE.search(text)
    if match is None:
        return Reading()
    fields = dict(match.groupdict())
    cleared = match["new"].strip().lower() == "none"
    fields["action"] = "" if cleared else match["new"].strip()
    return Reading(fields=fields)


_READERS: Mapping[int, _Reader] = {
    code: reader
    for reader, codes in (
        (graphics, (13,)),
        (_mmu, (31,)),
        (ecc, (48,)),
        (retirement, (63, 64)),
        (nvlink, (74, 108, 136, 137, 155)),
        (_blast, (94, 95)),
        (gsp, (119,)),
        (_escaped_ecc, (140,)),
        (_nvlink5, range(144, 151)),
        (advice, (154,)),
    )
    for code in codes
}


# The name is cut to 15 characters and may hold nearly anything, even a comma.
_NAME = compile_re(r",? ?name=(.{0,40}?)(?:, |,?$)")
_LOST = 79
_PARENT = compile_re(r"caused by previous Xid (\d{1,5})")


def read_xid(match: "re.Match[str]", after: Sequence[str]) -> Reading | None:
    """The code's meaning, bettered by the text."""
    code = int(match["code"])
    text = match.string[match.end() :]
    fields: dict[str, str] = {}
    name = _NAME.match(text)
    if name is not None:
        fields["name"] = name[1]
        text = text[name.end() :]
    reader = _READERS.get(code)
    said = Reading() if reader is None else reader(text.lstrip(" ,:"), after)
    fields.update(said.fields)
    gpu = normalize_bus_id(match["gpu"])
    known = catalogue.get_xid(code)
    parent = _PARENT.search(text)
    if known is None:
        # A number of a newer driver: something happened to this GPU, nobody knows what.
        fields["severity"] = "error"
        unknown = Reading(code=code, gpu=gpu, weak=True, blame=Blame.SELF, fields=fields)
        return unknown if parent is None else _make_consequence(unknown, int(parent[1]))
    fields.setdefault("severity", known.severity)
    reading = replace(
        said,
        category=said.category or known.category,
        also=known.also if said.category is None else said.also or (),
        role=said.role or known.role,
        code=code,
        gpu=gpu,
        weak=known.severity == "warn" if said.weak is None else said.weak,
        traits=frozenset({Trait.QUOTABLE, Trait.GPU_LOST}) if code == _LOST else None,
        fields=fields,
    )
    return reading if parent is None else _make_consequence(reading, int(parent[1]))


def _make_consequence(reading: Reading, parent: int) -> Reading:
    """The consequence of the Xid that the driver itself names, in its category."""
    origin = catalogue.get_xid(parent)
    if origin is None or origin.category is None:
        category, also = reading.category, reading.also
    else:
        category, also = origin.category, origin.also
    return replace(
        reading,
        category=category,
        also=also,
        role=EvidenceRole.CONSEQUENCE,
        parent_code=parent,
        weak=False,
        traits=None,
    )
