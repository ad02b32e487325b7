"""Memory of a host and stress tests: ``dmidecode``, ``edac-util``, ``ras-mc-ctl``, ``mcelog
--client``, ``memtester``, ``stress-ng``.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
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
    iterate_lines,
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
# "mc0: csrow2: CPU_SrcID#0_MC#0_Chan#1_DIMM#0: 12 Corrected Errors", "mc0:csrow0:mc#0...:CE:12"
_COUNT: Final = compile_re(
    r"(?P<mc>mc\d{1,3}): ?(?P<where>[^\n]{0,120}?)(?::| ) ?(?P<count>\d{1,12}) "
    r"(?P<how>Uncorrected|Corrected) Errors(?P<rest> with no DIMM info)?\s*$"
)
_FULL: Final = compile_re(
    r"(?P<mc>mc\d{1,3}):(?P<where>[^\n]{1,120}?):(?P<how>UE|CE):(?P<count>\d{1,12})\s*$"
)
_NOTHING: Final = compile_re(r"edac-util: No errors to report")
_NO_DATA: Final = compile_re(r"edac-util: (?:Error|Fatal): (?P<why>[^\n]{1,160})")


def begins_edac(head: str) -> bool:
    lines = head.split("\n")[:200]
    return any(form.match(line) for line in lines for form in (_COUNT, _FULL, _NOTHING, _NO_DATA))


def read_edac(text: str, reading: Reading) -> None:
    counted: list[tuple[str, int, bool, int]] = []
    clean = 0
    for index, line in iterate_lines(text):
        found = _COUNT.match(line) or _FULL.match(line)
        if found is not None:
            place = f"{found['mc']} {found['where'].strip(' :')}".strip()
            uncorrected = found["how"] in ("Uncorrected", "UE")
            counted.append((place, int(found["count"]), uncorrected, index))
        elif _NOTHING.match(line) is not None:
            clean = index
        elif (why := _NO_DATA.match(line)) is not None:
            reading.unknown(_ERRORS, why["why"], line=index)
        else:
            continue
        reading.saw(index)
    bad = [one for one in counted if one[1]]
    for one in bad:
        _tell_count(*one, reading)
    # The counters come in both sorts, as the tool prints them.
    paired = counted and not counted[-1][2] and any(uncorrected for _, _, uncorrected, _ in counted)
    if bad:
        return
    if clean or paired:
        reading.add(_ERRORS, PASS, None, "no memory error since boot", line=clean or 1)
    elif counted:
        reading.unknown(_ERRORS, "the list of counters breaks off", line=counted[-1][3])


def _tell_count(place: str, count: int, uncorrected: bool, line: int, reading: Reading) -> None:
    """Errors since boot."""
    said = f"{count:,} {'uncorrected' if uncorrected else 'corrected'} since boot"
    reading.add(_ERRORS, FAIL if uncorrected else WARN, place, said, _MEMORY, line)


# "Memory controller events summary:", "PCIe AER events:", "No Memory errors."
SUMMARY: Final = compile_re(
    r"(?P<what>Memory controller|PCIe AER|MCE|Extlog|ARM processor|CXL [\w ]{2,40}|Disk|Devlink"
    r"|Memory failure|SIGNAL)\s{1,2}(?:events|records|errors)(?P<summary> summary)?:\s*$"
)
_NONE_OF: Final = compile_re(r"No (?P<what>[\w ]{2,60}?) errors?\.\s*$")
_OF_DIMM: Final = compile_re(
    r"\s{1,16}(?P<how>Corrected|Uncorrected|Fatal|Deferred|Info)\b[^\n]{0,20} on DIMM Label\(s\):"
    r" '(?P<label>[^'\n]{0,120})' location: \S{1,40} errors: (?P<count>\d{1,12})"
)
_OF_BUS: Final = compile_re(
    r"\s{1,16}(?:(?P<device>[0-9a-f]{4}:[0-9a-f]{2}:\S{4}) )?has \d{1,12} [^\n]{1,80}? errors?"
    r"|\s{1,16}(?P<number>\d{1,12}) (?P<words>[A-Z][^\n]{2,120})"
)
# "1 2026-03-04 11:12:13 +0000 2 Uncorrected error(s): memory read error at DIMM_A1 location: ..."
_EVENT: Final = compile_re(
    r"\d{1,12} (?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4})[, ] ?(?P<said>[^\n]{3,400})$"
)
_OF_EVENT: Final = compile_re(
    r"\d{1,9} (?:Corrected|Uncorrected|Fatal|Deferred)[^\n]{0,12} error\(s\):? ?"
    r"[^\n]{1,100}? at (?P<label>[^\n]{1,100}?) location: \S{1,40}"
)
_GRAVE: Final = compile_re(r"(?i)\b(?:uncorrected|uncorrectable|fatal)\b")
# "DIMM_A1                42       0"
_TABLE: Final = compile_re(r"Label\s{1,60}CE\s{1,20}UE\s*$")
_TABLE_ROW: Final = compile_re(
    r"(?P<label>\S[^\n]{0,100}?)\s{1,60}(?P<ce>\d{1,12})\s{1,20}(?P<ue>\d{1,12})\s*$"
)
_LAST: Final = compile_re(
    r"^(?:No (?:MCE|ARM processor) errors|MCE records|MCE events|ARM processor events)", re.M
)
_NO_DATABASE: Final = "ras-mc-ctl: Error: "
_SECTIONS: Final = {"Memory controller": _MEMORY, "MCE": Category.CPU}


def begins_ras(head: str) -> bool:
    if _NO_DATABASE in head:
        return True
    lines = head.split("\n")[:400]
    told = sum(
        _NONE_OF.match(line) is not None or SUMMARY.match(line) is not None for line in lines
    )
    known = any("Memory errors." in line or SUMMARY.match(line) for line in lines)
    return (told > 1 and known) or any(_TABLE.match(line) for line in lines)


def read_ras(text: str, reading: Reading) -> None:
    section, of_all_time, in_table = "", True, False
    for index, line in iterate_lines(text):
        if (header := SUMMARY.match(line)) is not None:
            section, of_all_time = header["what"], header["summary"] is not None
        elif _TABLE.match(line) is not None:
            in_table = True
        elif in_table and (row := _TABLE_ROW.match(line)) is not None:
            corrected, uncorrected = int(row["ce"]), int(row["ue"])
            if count := uncorrected or corrected:
                _tell_count(row["label"], count, uncorrected > 0, index, reading)
        elif (dimm := _OF_DIMM.match(line)) is not None:
            detail = f"{int(dimm['count']):,} {dimm['how'].lower()} in all that is recorded"
            reading.add(_ERRORS, WARN, dimm["label"], detail, _MEMORY, index)
        elif (event := _EVENT.match(line)) is not None and section:
            _tell_event(event, section, index, reading)
        elif section and of_all_time and (found := _OF_BUS.match(line)) is not None:
            category = Category.CPU if section == "MCE" else Category.IO_BOARD
            reading.add(_ERRORS, WARN, found["device"], line.strip(), category, index)
        elif line.startswith(_NO_DATABASE):
            reading.unknown(_ERRORS, line[19:], line=index)
        elif _NONE_OF.match(line) is None:
            continue
        reading.saw(index)
    if reading.results:
        return
    if in_table or _LAST.search(text) is not None:
        reading.add(_ERRORS, PASS, None, "no error is recorded", line=1)
    else:
        reading.unknown(_ERRORS, "the summary breaks off before its last part")


def _tell_event(event: re.Match[str], section: str, index: int, reading: Reading) -> None:
    """One dated error."""
    try:
        at = datetime.strptime(event["at"], "%Y-%m-%d %H:%M:%S %z").astimezone(UTC)
    except (ValueError, OverflowError):
        at = None
    said = event["said"]
    memory = _OF_EVENT.search(said)
    grave = _GRAVE.search(said) is not None and "Deferred" not in said and at is not None
    category = _SECTIONS.get(section, Category.IO_BOARD)
    part = memory["label"] if memory else None
    reading.add(_ERRORS, FAIL if grave else WARN, part, said, category, index, at=at)


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
# "stress-ng: fail:  [4711] vm: ..."; some versions print the time in front of the number
_STRESS_LINE: Final = compile_re(
    r"stress-ng: (?:\d\d:\d\d:\d\d\.\d\d )?(?P<level>info|fail|error|warn|metrc): {1,2}"
    r"\[\d{1,10}\] (?P<said>[^\n]{1,200})"
)
_RUN: Final = compile_re(r"(?P<un>un)?successful run completed in ")
_MEMORY_STRESS: Final = compile_re(
    r"\b(?:stress-ng-)?(?:vm|memrate|memthrash|memcpy|stream|mmap|malloc|bigheap)\b|bit error", re.I
)


def read_stress(text: str, reading: Reading) -> None:
    failures: list[tuple[int, str]] = []
    ended: re.Match[str] | None = None
    for index, line in iterate_lines(text):
        found = _STRESS_LINE.search(line)
        if found is not None:
            reading.saw(index)
            failures += [(index, found["said"])] if found["level"] == "fail" else []
            ended = _RUN.search(found["said"]) or ended
    if failures:
        memory = any(_MEMORY_STRESS.search(words) for _, words in failures)
        said = f"{len(failures)} failures, the first: {failures[0][1]}"
        category = _MEMORY if memory else Category.CPU
        reading.add(_STRESS_NG, FAIL, None, said, category, failures[0][0])
    elif ended is None:
        reading.unknown(_STRESS_NG, "it did not come to its end")
    elif ended["un"]:
        said = "the run was not successful, and no failure is named"
        reading.add(_STRESS_NG, WARN, None, said)
    else:
        reading.add(_STRESS_NG, PASS, None, "the run was successful")


# ``lspci -vv``: devices that no longer answer, and links that are narrower than they could be.
#
# All ones is what a bus answers for a device that is not there. GPUs, adapters and drives are
# judged; a bridge with fewer lanes than it could have is how boards are built. An idle GPU lowers
# the speed of its link, never the width. Errors that registers kept are of any time since boot.

# A line of a device begins with its address; to search for one is cheaper than to try each line.
_ADDRESS: Final = compile_re(r"\n(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] ")
# "0000:5d:00.0 3D controller [0302]: NVIDIA Corporation ... (rev a1)"
_DEVICE: Final = compile_re(
    r"(?P<at>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) "
    r"(?P<kind>[A-Z0-9][\w/ &()-]{2,60}?)(?: \[[0-9a-f]{4}\])?: (?P<name>[^\n]{1,200}?)"
    r"(?: \(rev (?P<rev>[0-9a-f]{2})\))?(?: \(prog-if [0-9a-f]{2}[^\n]{0,40}\))?\s*$"
)
_GONE: Final = compile_re(r"!!! Unknown header type 7f")
_CAN: Final = compile_re(
    r"\s{1,16}LnkCap:\s[^\n]{0,40}?Speed (?P<speed>[\d.]{1,5})GT/s, Width x(?P<width>\d{1,2})"
)
_IS: Final = compile_re(
    r"\s{1,16}LnkSta:\s{1,8}Speed (?P<speed>[\d.]{1,5}|unknown)(?:GT/s)?"
    r"(?: \((?:ok|downgraded)\))?, Width x(?P<width>\d{1,2})"
)
_STATUS: Final = compile_re(
    r"\s{1,16}(?:UESta|CESta):\s{1,8}(?P<bits>(?:[A-Z]\w{1,20}[+-] ?){2,20})"
)
_HIDDEN: Final = compile_re(r"\s{1,16}Capabilities: <access denied>")
_INDENTED: Final = compile_re(
    r"\s{1,16}(?:Subsystem|Control|Status|Kernel driver|Flags|Capabilities):"
)
GPU: Final = compile_re(r"3D controller|Processing accelerator|VGA compatible controller", re.I)
_GPU_MAKER: Final = compile_re(
    r"\bnvidia\b|advanced micro devices|\bamd\b|instinct|habana|intel.{0,40}max", re.I
)
_ADAPTER: Final = compile_re(r"infiniband|ethernet controller|network controller", re.I)
_DRIVE: Final = compile_re(r"non-volatile memory", re.I)
# Set by questions that a device does not know, on nearly every board.
_HARMLESS: Final = frozenset({"UnsupReq", "AdvNonFatalErr", "ACSViol"})
_IDLE_GT: Final = 2.5


@dataclass(slots=True)
class Device:
    """One device; links are (GT/s, lanes), with 0 where nothing says them."""

    at: str
    kind: str
    name: str
    line: int
    gone: bool
    can: tuple[float, int] | None = None
    now: tuple[float, int] | None = None
    kept: list[str] = field(default_factory=list)
    hidden: bool = False

    @property
    def is_gpu(self) -> bool:
        """Whether it is a GPU, and not the screen of a management controller."""
        return GPU.match(self.kind) is not None and _GPU_MAKER.search(self.name) is not None

    @property
    def category(self) -> Category | None:
        """What it is when it no longer answers; None where no job needs it."""
        if self.is_gpu:
            return Category.IO_BOARD
        if _ADAPTER.match(self.kind) is not None:
            return Category.NIC
        return Category.SSD if _DRIVE.match(self.kind) is not None else None


def begins_lspci(head: str) -> bool:
    """Two devices, or one with what ``-v`` shows of it."""
    if _ADDRESS.search(f"\n{head}") is None:
        return False
    lines = head.split("\n")
    devices = sum(_DEVICE.match(line) is not None for line in lines)
    shown = devices == 1 and any(_INDENTED.match(line) or _GONE.search(line) for line in lines)
    return devices > 1 or shown


def read_lspci(text: str, reading: Reading) -> None:
    devices: list[Device] = []
    for index, line in iterate_lines(text):
        found = _DEVICE.match(line)
        if found is not None:
            gone = found["rev"] == "ff"
            devices.append(Device(found["at"], found["kind"], found["name"], index, gone))
            reading.saw(index)
        elif devices and line[:1].isspace() and line.strip():
            reading.saw(index)
            _take(line, devices[-1])
    fastest: dict[str, float] = defaultdict(float)
    for one in devices:
        if one.now is not None:
            fastest[one.name] = max(fastest[one.name], one.now[0])
    for one in devices:
        if one.category is not None:
            _judge_device(one, one.category, fastest.get(one.name, 0.0), reading)


def _take(line: str, device: Device) -> None:
    if _GONE.search(line) is not None:
        device.gone = True
    elif (can := _CAN.match(line)) is not None:
        device.can = parse_decimal(can["speed"]) or 0.0, int(can["width"])
    elif (now := _IS.match(line)) is not None:
        device.now = parse_decimal(now["speed"]) or 0.0, int(now["width"])
    elif _HIDDEN.match(line) is not None:
        device.hidden = True
    elif (status := _STATUS.match(line)) is not None:
        bits = [bit[:-1] for bit in status["bits"].split() if bit.endswith("+")]
        device.kept += [bit for bit in bits if bit not in _HARMLESS]


def _judge_device(device: Device, category: Category, best: float, reading: Reading) -> None:
    """``best`` is the speed of the fastest of its model, in GT/s."""
    part, line = normalize_full_address(device.at) or device.at, device.line
    if device.is_gpu:
        part = normalize_bus_id(device.at) or part
    if device.gone:
        said = f"does not answer on the bus: {device.kind}: {device.name}"
        reading.add("pcie.device", FAIL, part, said, category, line)
        return
    reading.add("pcie.device", PASS, part, device.name, line=line)
    if device.can is not None and device.now is not None:
        outcome, said = _judge_link(device.is_gpu, device.can, device.now, best)
        reading.add("pcie.link", outcome, part, said, Category.IO_BOARD, line)
    elif device.can is not None:
        reading.unknown("pcie.link", "the list breaks off in it", part, line)
    elif device.hidden:
        reading.add("pcie.link", SKIPPED, part, "its link is shown to root alone", line=line)
    if device.kept:
        said = f"kept since boot: {', '.join(dict.fromkeys(device.kept))}"
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
