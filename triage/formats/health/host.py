"""Memory of a host and stress tests: ``dmidecode``, ``edac-util``, ``ras-mc-ctl``, ``mcelog
--client``, ``memtester``, ``stress-ng``.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.domain.patterns import compile_re
from triage.formats.health.reading import (
    FAIL,
    PASS,
    SKIPPED,
    WARN,
    Reading,
    count_line,
    parse_decimal,
)
from triage.formats.health.rows import Block
from triage.signatures.pci import normalize_bus_id, normalize_full_address

_MEMORY: Final = Category.HOST_MEMORY

# dmidecode. An empty slot is normal; one whose twin on the other processor holds a module is not,
# nor is the only empty one of a board. Modules of other sizes, or slower than the rest, warn.

DIMM: Final = "memory.dimm"
_SIZE: Final = compile_re(r"(?P<count>\d{1,7}) (?P<unit>[kMGT]i?B)", re.ASCII)
_IN_GB: Final = {"k": 1 / (1 << 20), "M": 1 / 1024, "G": 1, "T": 1024}
_SPEED: Final = compile_re(r"(\d{3,6}) (?:MT/s|MHz)", re.ASCII)
# "CPU1_DIMM_A1", "P0 CHANNEL A", "PROC 2 DIMM 5", "Node0_Dimm1", "SOCKET 0 CHANNEL 3 DIMM 0"
SOCKET: Final = compile_re(r"(?:cpu|proc|socket|p|node)[ _]?(?P<number>\d{1,2})", re.I)
# A board with fewer slots may be half full on purpose.
_LEAST_SLOTS: Final = 8
# What the firmware saw of the chassis at boot; what it did not look at says nothing.
_STATES: Final = {"safe": PASS, "warning": WARN, "critical": FAIL, "non-recoverable": FAIL}
_SUPPLIES: Final = {"ok": PASS, "non-critical": WARN, "critical": FAIL}
_OF_CHASSIS: Final = {"thermal state": Category.CHASSIS, "power supply state": Category.POWER}
_Fields = dict[str, str]


@dataclass(frozen=True, slots=True)
class _Slot:
    """One slot; ``size_gb`` is 0 for an empty one, ``speed`` in MT/s as it is run, 0 unknown."""

    name: str
    socket: str | None
    twin: str
    size_gb: float
    speed: int
    line: int


def judge_structures(blocks: Sequence[Block], reading: Reading) -> None:
    """The slots, power supplies and states that ``dmidecode`` lists."""
    slots: list[_Slot] = []
    announced = cut = 0
    for block in blocks:
        kind, line = block.get("dmi_type"), block.line
        fields = {name: values[0] for name, values in block.values.items()}
        if kind == "17":
            slot = _make_slot(fields, line)
            slots += [] if slot is None else [slot]
            cut += slot is None
        elif kind == "16" and fields.get("use") == "System Memory":
            said = fields.get("number of devices", "")[:4]
            announced += int(said) if said.isascii() and said.isdigit() else 0
        elif kind == "3":
            for name, category in _OF_CHASSIS.items():
                outcome = _STATES.get(fields.get(name, "").lower())
                if outcome is not None:
                    said = fields[name]
                    reading.add("bmc.chassis", outcome, name, said, category, line)
        elif kind == "39":
            said = fields.get("status", "").lower()
            present, _, state = said.partition(",")
            outcome = _SUPPLIES.get(state.strip())
            if present.startswith("present") and outcome is not None:
                part = fields.get("location") or fields.get("name") or "power supply"
                reading.add("bmc.supply", outcome, part, said, Category.POWER, line)
    if any("denied" in one for one in blocks) and not slots:
        reading.unknown(DIMM, "dmidecode was not allowed to read the tables of the firmware")
    elif slots or cut:
        _judge_slots(slots, max(announced, len(slots) + cut), reading)


def _make_slot(fields: _Fields, line: int) -> _Slot | None:
    """A slot; None where what stands of it does not say whether it is filled, and which it is."""
    said, name = fields.get("size", ""), fields.get("locator", "")
    size = _SIZE.match(said)
    empty = said.startswith(("No Module", "Not Installed", "0 "))
    if (size is None and not empty) or not name:
        return None
    where = f"{name} {fields.get('Bank Locator', '')}".strip()
    socket = SOCKET.search(where)
    speed = _SPEED.search(
        fields.get("configured memory speed") or fields.get("configured clock speed") or ""
    )
    size_gb = 0.0 if size is None or empty else int(size["count"]) * _IN_GB[size["unit"][0]]
    number = socket["number"] if socket else None
    twin = SOCKET.sub("*", where)
    return _Slot(name, number, twin, size_gb, int(speed[1]) if speed else 0, line)


def _judge_slots(slots: Sequence[_Slot], announced: int, reading: Reading) -> None:
    """What is missing, what differs, and else that all is there."""
    filled = [slot for slot in slots if slot.size_gb]
    missing = _list_missing(slots)
    sizes = Counter(slot.size_gb for slot in filled).most_common(1)
    usual_size = sizes[0][0] if sizes else 0.0
    usual_speed = max((slot.speed for slot in filled), default=0)
    said = [(slot, FAIL, f"no module, {why}") for slot, why in missing]
    said += [
        (slot, WARN, f"{slot.size_gb:g} GB, most have {usual_size:g} GB")
        for slot in filled
        if slot.size_gb != usual_size
    ]
    said += [
        (slot, WARN, f"runs at {slot.speed} MT/s, others at {usual_speed}")
        for slot in filled
        if 0 < slot.speed < usual_speed
    ]
    for slot, outcome, why in said:
        reading.add(DIMM, outcome, slot.name, why, _MEMORY, slot.line)
    if len(slots) < announced:
        why = f"breaks off: {len(slots)} of {announced} slots are listed"
        reading.unknown(DIMM, why, line=slots[-1].line if slots else None)
    elif not filled and not missing:
        # a virtual machine, or firmware that does not fill its tables
        why = f"no module in any of {len(slots)} slots is listed"
        reading.unknown(DIMM, why, line=slots[0].line)
    elif not missing:
        total = sum(slot.size_gb for slot in filled)
        all_there = f"{len(filled)} modules in {len(slots)} slots, {total:,.0f} GB"
        reading.add(DIMM, PASS, None, all_there, line=slots[0].line)


def _list_missing(slots: Sequence[_Slot]) -> list[tuple[_Slot, str]]:
    """The slots that should hold a module, and why."""
    if len({slot.socket for slot in slots if slot.socket is not None}) > 1:
        twins: dict[str, dict[str, list[_Slot]]] = defaultdict(lambda: defaultdict(list))
        for slot in slots:
            if slot.socket is not None:
                twins[slot.twin][slot.socket].append(slot)
        # Names that do not tell the slots of one processor apart cannot be compared.
        pairs = [one for one in twins.values() if all(len(each) == 1 for each in one.values())]
        return [
            (slot, f"its twin {full.name} has {full.size_gb:g} GB")
            for pair in pairs
            if (full := next((one[0] for one in pair.values() if one[0].size_gb), None))
            for (slot,) in pair.values()
            if not slot.size_gb
        ]
    empty = [slot for slot in slots if not slot.size_gb]
    if len(empty) == 1 and len(slots) >= _LEAST_SLOTS:
        return [(empty[0], f"the only empty one of {len(slots)} slots")]
    return []


# Memory errors as daemons count them. EDAC counts since boot: an uncorrected error fails.
# rasdaemon's summary is of as long as its database is kept, so it advises; its list of errors has
# their dates. Corrected errors advise.

_ERRORS: Final = "memory.errors"


def judge_edac(blocks: Sequence[Block], reading: Reading) -> None:
    """The counters of ``edac-util``, each a block."""
    for one in blocks:
        if "why" in one:
            reading.unknown(_ERRORS, one.get("why"), line=one.line)
    counted = [one for one in blocks if "count" in one]
    uncorrected = [one.get("how") in ("Uncorrected", "UE") for one in counted]
    bad = [
        (one, grave)
        for one, grave in zip(counted, uncorrected, strict=True)
        if int(one.get("count"))
    ]
    for one, grave in bad:
        place = f"{one.get('mc')} {one.get('where').strip(' :')}".strip()
        said = f"{int(one.get('count')):,} {'uncorrected' if grave else 'corrected'} since boot"
        reading.add(_ERRORS, FAIL if grave else WARN, place, said, _MEMORY, one.line)
    clean = [one.line for one in blocks if "clean" in one]
    # The counters come in both sorts, as the tool prints them.
    if not bad and (clean or (any(uncorrected) and not uncorrected[-1])):
        line = clean[-1] if clean else 1
        reading.add(_ERRORS, PASS, None, "no memory error since boot", line=line)
    elif counted and not bad:
        reading.unknown(_ERRORS, "the list of counters breaks off", line=counted[-1].line)


def judge_modules(blocks: Sequence[Block], reading: Reading) -> None:
    """The counters of ``mcelog --client``."""
    for module in (one for one in blocks if one.level == 1):
        place, line = module.get("name") or module.get("place"), module.line
        counts = {
            f"{sort.get('sort')} {when}": int(sort.get(when))
            for sort in module.inner
            for when in ("total", "in 24h")
            if when in sort
        }
        if "uncorrected total" not in counts:
            reading.unknown(_ERRORS, "its counters break off", place, line)
            continue
        told = [f"{count:,} {what}" for what, count in counts.items() if count]
        outcome: Outcome = WARN if told else PASS
        outcome = FAIL if counts.get("uncorrected in 24h") else outcome
        reading.add(_ERRORS, outcome, place, ", ".join(told) or "no memory error", _MEMORY, line)


# memtester and stress-ng: a test that did not come to its end, or got no memory, says nothing.

_MEMTESTER: Final = "memory.memtester"
_HEAD: Final = compile_re(r"^memtester version \d[\d.]{0,8}", re.M)
FAILURE: Final = compile_re(r"FAILURE: ?(?P<what>[^\n]{1,160})")
_DONE: Final = compile_re(r"^Done\.\s*$", re.M)
PASSED: Final = compile_re(r": {1,40}[^\n]{0,4000}?ok\s*$", re.M)


def read_memtester(text: str, reading: Reading) -> None:
    head = _HEAD.search(text)
    first = count_line(text, head.start()) if head else 1
    reading.saw(first)
    reading.saw(max(first, text.count("\n") + (not text.endswith("\n"))))
    failures = list(FAILURE.finditer(text))
    if failures:
        said = f"{len(failures)} failures, the first: {failures[0]['what']}"
        reading.add(_MEMTESTER, FAIL, None, said, _MEMORY, count_line(text, failures[0].start()))
    elif _DONE.search(text) is not None and PASSED.search(text) is not None:
        reading.add(_MEMTESTER, PASS, None, "every pattern was read back", line=first)
    else:
        reading.unknown(_MEMTESTER, "it did not come to its end", line=first)


_STRESS_NG: Final = "host.stress_ng"
_RUN: Final = compile_re(r"(?P<un>un)?successful run completed in ")
_MEMORY_STRESS: Final = compile_re(
    r"\b(?:stress-ng-)?(?:vm|memrate|memthrash|memcpy|stream|mmap|malloc|bigheap)\b|bit error", re.I
)


def judge_stress(blocks: Sequence[Block], reading: Reading) -> None:
    """The messages of ``stress-ng``."""
    failures = [one for one in blocks if "fail" in one]
    ends = [found for one in blocks if (found := _RUN.search(one.get("said"))) is not None]
    if failures:
        memory = any(_MEMORY_STRESS.search(one.get("said")) for one in failures)
        said = f"{len(failures)} failures, the first: {failures[0].get('said')}"
        category = _MEMORY if memory else Category.CPU
        reading.add(_STRESS_NG, FAIL, None, said, category, failures[0].line)
    elif not ends:
        reading.unknown(_STRESS_NG, "it did not come to its end")
    elif ends[-1]["un"]:
        said = "the run was not successful, and no failure is named"
        reading.add(_STRESS_NG, WARN, None, said)
    else:
        reading.add(_STRESS_NG, PASS, None, "the run was successful")


# ``lspci -vv``: devices that no longer answer, and links that are narrower than they could be.
#
# All ones is what a bus answers for a device that is not there. GPUs, adapters and drives are
# judged; a bridge with fewer lanes than it could have is how boards are built. An idle GPU lowers
# the speed of its link, never the width. Errors that registers kept are of any time since boot.

GPU: Final = compile_re(r"3D controller|Processing accelerator|VGA compatible controller", re.I)
_GPU_MAKER: Final = compile_re(
    r"\bnvidia\b|advanced micro devices|\bamd\b|instinct|habana|intel.{0,40}max", re.I
)
_ADAPTER: Final = compile_re(r"infiniband|ethernet controller|network controller", re.I)
_DRIVE: Final = compile_re(r"non-volatile memory", re.I)
# Set by questions that a device does not know, on nearly every board.
_HARMLESS: Final = frozenset({"UnsupReq", "AdvNonFatalErr", "ACSViol"})
_IDLE_GT: Final = 2.5


def judge_devices(blocks: Sequence[Block], reading: Reading) -> None:
    """The devices of ``lspci -vv``."""
    fastest: dict[str, float] = defaultdict(float)
    for one in blocks:
        name = one.get("name")
        fastest[name] = max(fastest[name], _find_link(one, "now")[0])
    for one in blocks:
        _judge_device(one, fastest[one.get("name")], reading)


def _find_link(device: Block, which: str) -> tuple[float, int]:
    """The (GT/s, lanes) of a link that a device ``can`` have, or has ``now``; 0 for unknown."""
    speed, width = device.get(f"{which}_speed"), device.get(f"{which}_width")
    return parse_decimal(speed) or 0.0, int(width or 0)


def _judge_device(device: Block, best: float, reading: Reading) -> None:
    """``best`` is the speed of the fastest of its model, in GT/s."""
    kind, name, at, line = (*map(device.get, ("kind", "name", "at")), device.line)
    # Not the screen of a management controller.
    is_gpu = GPU.match(kind) is not None and _GPU_MAKER.search(name) is not None
    part = normalize_full_address(at) or at
    if is_gpu:
        category, part = Category.IO_BOARD, normalize_bus_id(at) or part
    elif _ADAPTER.match(kind) is not None:
        category = Category.NIC
    elif _DRIVE.match(kind) is not None:
        category = Category.SSD
    else:
        return
    if device.get("rev") == "ff" or "gone" in device:
        said = f"does not answer on the bus: {kind}: {name}"
        reading.add("pcie.device", FAIL, part, said, category, line)
        return
    reading.add("pcie.device", PASS, part, name, line=line)
    if "can_width" in device and "now_width" in device:
        links = _find_link(device, "can"), _find_link(device, "now")
        outcome, said = _judge_link(is_gpu, *links, best)
        reading.add("pcie.link", outcome, part, said, Category.IO_BOARD, line)
    elif "can_width" in device:
        reading.unknown("pcie.link", "the list breaks off in it", part, line)
    elif "hidden" in device:
        reading.add("pcie.link", SKIPPED, part, "its link is shown to root alone", line=line)
    bits = " ".join(device.values.get("bits", ())).split()
    kept = [bit[:-1] for bit in bits if bit.endswith("+") and bit[:-1] not in _HARMLESS]
    if kept:
        said = f"kept since boot: {', '.join(dict.fromkeys(kept))}"
        reading.add("pcie.errors", WARN, part, said, Category.IO_BOARD, line)


def _judge_link(
    is_gpu: bool, can: tuple[float, int], now: tuple[float, int], best: float
) -> tuple[Outcome, str]:
    said = f"x{now[1]} of x{can[1]} at {now[0]:g} of {can[0]:g} GT/s"
    if now[1] < can[1]:
        return FAIL, said
    if now[0] >= can[0] or not now[0]:
        return PASS, said
    if is_gpu:
        return WARN, f"{said}{': as an idle GPU does' if now[0] <= _IDLE_GT else ''}"
    if now[0] < best:
        return FAIL, f"{said}, another of its model at {best:g}"
    return WARN, said
