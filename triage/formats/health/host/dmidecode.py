"""``dmidecode``: memory modules that the firmware no longer sees, and what it says of power.

::

    Handle 0x0025, DMI type 17, 92 bytes
    Memory Device
            Size: No Module Installed
            Locator: CPU1_DIMM_C1
            Speed: 4800 MT/s

An empty slot is normal; one whose twin on the other processor holds a module is not, nor is the
only empty one of a board. Modules of other sizes, or slower than the rest, warn.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.reading import Reading, lines_of

__all__ = ["DMIDECODE"]

CHECK: Final = "memory.dimm"
HANDLE: Final = re.compile(r"Handle 0x[0-9A-Fa-f]{1,8}, DMI type (?P<type>\d{1,3}), \d{1,4} bytes")
FIELD: Final = re.compile(r"\s{1,16}(?P<name>[A-Z][A-Za-z -]{1,40}): ?(?P<value>[^\n]{0,120})$")
CLAIM: Final = re.compile(
    r"^(?:# dmidecode \d|Handle 0x[0-9A-Fa-f]{1,8}, DMI type \d{1,3}, \d{1,4} bytes)", re.M
)
DENIED: Final = re.compile(r"^/\S{3,60}: (?:Permission denied|Operation not permitted)", re.M)
SIZE: Final = re.compile(r"(?P<count>\d{1,7}) (?P<unit>[kMGT]i?B)", re.ASCII)
IN_GB: Final = {"k": 1 / (1 << 20), "M": 1 / 1024, "G": 1, "T": 1024}
SPEED: Final = re.compile(r"(\d{3,6}) (?:MT/s|MHz)", re.ASCII)
# "CPU1_DIMM_A1", "P0 CHANNEL A", "PROC 2 DIMM 5", "Node0_Dimm1", "SOCKET 0 CHANNEL 3 DIMM 0"
SOCKET: Final = re.compile(r"(?:cpu|proc|socket|p|node)[ _]?(?P<number>\d{1,2})", re.I)
# A board with fewer slots may be half full on purpose.
LEAST_SLOTS: Final = 8
MEMORY, ARRAY, CHASSIS, SUPPLY = "17", "16", "3", "39"


@dataclass(frozen=True, slots=True)
class Slot:
    """One slot; ``size_gb`` is 0 for an empty one, ``speed`` in MT/s as it is run, 0 unknown."""

    name: str
    socket: str | None
    twin: str
    size_gb: float
    speed: int
    line: int


def claimed(head: str) -> bool:
    if CLAIM.search(head) is None:
        return False
    return HANDLE.search(head) is not None or DENIED.search(head) is not None


def read(text: str, reading: Reading) -> None:
    slots: list[Slot] = []
    announced = cut = 0
    for kind, line, fields in structures(text, reading):
        if kind == MEMORY:
            slot = slot_of(fields, line)
            if slot is None:
                cut += 1
            else:
                slots.append(slot)
        elif kind == ARRAY and fields.get("Use") == "System Memory":
            announced += number_in(fields.get("Number Of Devices", ""))
        elif kind == CHASSIS:
            judge_state("Thermal State", fields, Category.CHASSIS, line, reading)
            judge_state("Power Supply State", fields, Category.POWER, line, reading)
        elif kind == SUPPLY:
            judge_supply(fields, line, reading)
    if DENIED.search(text) is not None and not slots:
        reading.unknown(CHECK, "dmidecode was not allowed to read the tables of the firmware")
    elif slots or cut:
        judge_slots(slots, max(announced, len(slots) + cut), reading)


def structures(text: str, reading: Reading) -> list[tuple[str, int, dict[str, str]]]:
    """(type, line, fields) of each structure."""
    found: list[tuple[str, int, dict[str, str]]] = []
    fields: dict[str, str] | None = None
    for index, line in lines_of(text):
        handle = HANDLE.match(line)
        if handle is not None:
            fields = {}
            found.append((handle["type"], index, fields))
            reading.saw(index)
        elif fields is not None and (field := FIELD.match(line)) is not None:
            fields.setdefault(field["name"], field["value"].strip())
            reading.saw(index)
    return found


def number_in(text: str) -> int:
    return int(text[:4]) if text[:4].isascii() and text[:4].isdigit() else 0


def slot_of(fields: dict[str, str], line: int) -> Slot | None:
    """A slot; None where what stands of it does not say whether it is filled, and which it is."""
    said, name = fields.get("Size", ""), fields.get("Locator", "")
    size = SIZE.match(said)
    empty = said.startswith(("No Module", "Not Installed", "0 "))
    if (size is None and not empty) or not name:
        return None
    where = f"{name} {fields.get('Bank Locator', '')}".strip()
    socket = SOCKET.search(where)
    speed = SPEED.search(
        fields.get("Configured Memory Speed") or fields.get("Configured Clock Speed") or ""
    )
    size_gb = 0.0
    if size is not None and not empty:
        size_gb = int(size["count"]) * IN_GB[size["unit"][0]]
    number = socket["number"] if socket else None
    twin = SOCKET.sub("*", where, count=0) if socket else where
    return Slot(name, number, twin, size_gb, int(speed[1]) if speed else 0, line)


def judge_slots(slots: Sequence[Slot], announced: int, reading: Reading) -> None:
    """What is missing, what differs, and else that all is there."""
    filled = [slot for slot in slots if slot.size_gb]
    missing = missing_of(slots)
    for slot, why in missing:
        reading.add(
            CHECK,
            Outcome.FAIL,
            part=slot.name,
            detail=f"no module, {why}",
            category=Category.HOST_MEMORY,
            line=slot.line,
        )
    usual_size = most_common([slot.size_gb for slot in filled])
    usual_speed = max((slot.speed for slot in filled), default=0)
    odd = [
        (slot, f"{slot.size_gb:g} GB, most have {usual_size:g} GB")
        for slot in filled
        if slot.size_gb != usual_size
    ]
    odd += [
        (slot, f"runs at {slot.speed} MT/s, others at {usual_speed}")
        for slot in filled
        if slot.speed and slot.speed < usual_speed
    ]
    for slot, why in odd:
        reading.add(
            CHECK,
            Outcome.WARN,
            part=slot.name,
            detail=why,
            category=Category.HOST_MEMORY,
            line=slot.line,
        )
    if len(slots) < announced:
        why = f"breaks off: {len(slots)} of {announced} slots are listed"
        reading.unknown(CHECK, why, line=slots[-1].line if slots else None)
    elif not missing:
        total = sum(slot.size_gb for slot in filled)
        said = f"{len(filled)} modules in {len(slots)} slots, {total:,.0f} GB"
        line = slots[0].line
        if filled:
            reading.add(CHECK, Outcome.PASS, detail=said, line=line)
        else:  # a virtual machine, or firmware that does not fill its tables
            reading.unknown(CHECK, f"no module in any of {len(slots)} slots is listed", line=line)


def missing_of(slots: Sequence[Slot]) -> list[tuple[Slot, str]]:
    """The slots that should hold a module, and why."""
    sockets = sorted({slot.socket for slot in slots if slot.socket is not None})
    if len(sockets) > 1:
        twins: dict[str, dict[str, list[Slot]]] = defaultdict(lambda: defaultdict(list))
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
    if len(empty) == 1 and len(slots) >= LEAST_SLOTS:
        return [(empty[0], f"the only empty one of {len(slots)} slots")]
    return []


def most_common(values: Sequence[float]) -> float:
    return Counter(values).most_common(1)[0][0] if values else 0.0


def judge_state(
    name: str, fields: dict[str, str], category: Category, line: int, reading: Reading
) -> None:
    """What the firmware saw of the chassis at boot; what it did not look at says nothing."""
    said = fields.get(name, "")
    outcome = {
        "safe": Outcome.PASS,
        "warning": Outcome.WARN,
        "critical": Outcome.FAIL,
        "non-recoverable": Outcome.FAIL,
    }.get(said.lower())
    if outcome is not None:
        reading.add(
            "bmc.chassis", outcome, part=name.lower(), detail=said, category=category, line=line
        )


def judge_supply(fields: dict[str, str], line: int, reading: Reading) -> None:
    said = fields.get("Status", "").lower()
    if not said.startswith("present"):
        return
    state = said.partition(",")[2].strip()
    outcome = {
        "ok": Outcome.PASS,
        "non-critical": Outcome.WARN,
        "critical": Outcome.FAIL,
    }.get(state)
    if outcome is not None:
        part = fields.get("Location") or fields.get("Name") or "power supply"
        reading.add(
            "bmc.supply", outcome, part=part, detail=said, category=Category.POWER, line=line
        )


DMIDECODE: Final = CheckFormat(
    "dmidecode",
    claimed,
    read,
    cut_as=CHECK,
    part=HANDLE,
    words=("# dmidecode ", "Handle 0x"),
)
