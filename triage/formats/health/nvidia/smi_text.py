"""``nvidia-smi -q`` as text: sections by indentation, one GPU after the other.

::

    ==============NVSMI LOG==============
    Timestamp                                 : Sat Nov 21 03:20:11 2026
    Driver Version                            : 570.86.15
    GPU 00000000:1B:00.0
        Persistence Mode                      : Enabled
        PCI
            GPU Link Info
                PCIe Generation
                    Max                       : 5
                    Current                   : 5
                Link Width
                    Max                       : 16x
                    Current                   : 16x
        Performance State                     : P0
        Clocks Event Reasons
            HW Thermal Slowdown               : Not Active
        ECC Errors
            Volatile
                DRAM Uncorrectable            : 0
        Remapped Rows
            Pending                           : No
            Remapping Failure Occurred        : No

The time is a local one without a zone: it is not used.
"""

import re
from collections.abc import Callable
from typing import Final

from triage.formats.health.check_format import CheckFormat
from triage.formats.health.nvidia.gpu_state import GpuState, judge
from triage.formats.health.reading import Reading, lines_of
from triage.signatures.pci import bus_id

__all__ = ["SMI_TEXT", "number", "yes", "yes_or_true"]

CLAIM: Final = re.compile(r"={4,40}NVSMI LOG={4,40}")
# "GPU 00000000:1B:00.0"
# Without `-d` a GPU's part begins with its name, and its processes stand behind all that is judged.
ENTIRE: Final = ("    Product Name", "    Processes")
ATTACHED: Final = re.compile(r"Attached GPUs\s{0,60}: (\d{1,4})\s*$")
GPU: Final = re.compile(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*$")
# "    Product Name                      : NVIDIA H200": a GPU's part of a report, kept alone.
FIRST_VALUES: Final = re.compile(
    r"\s{0,20}GPU [0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]\s*\n"
    r"(?: {4}[A-Z][^:\n]{1,60}(?:: [^\n]{0,200})?\r?\n){2}"
)
# "        DRAM Uncorrectable                : 0"
VALUE: Final = re.compile(r"(\s{0,40})([^:\s][^:]{0,80}?)\s{0,60}(?::\s?(.{0,200}))?$")
MAX_LINE: Final = 300
NUMBER: Final = re.compile(r"-?\d{1,12}")
FLAGS: Final = {
    "yes": True, "enabled": True, "active": True,
    "no": False, "disabled": False, "not active": False,
}  # fmt: skip
REASONS: Final = ("Clocks Throttle Reasons", "Clocks Event Reasons")
Setter = Callable[[GpuState, str], None]


def number(text: str) -> int | None:
    """``16x``, ``61 C``, ``0``: the number; None for ``N/A``."""
    found = NUMBER.match(text.strip())
    return int(found[0]) if found else None


def yes(text: str) -> bool | None:
    """``Yes``, ``Not Active`` ...; None for ``N/A``."""
    return FLAGS.get(text.strip().lower())


def yes_or_true(text: str) -> bool | None:
    """``True``, ``False``: as the fabric's health is printed."""
    return {"true": True, "false": False}.get(text.strip().lower(), yes(text))


def added(field: str) -> Setter:
    """Counts of several kinds of one memory are one count (SRAM: parity and SEC-DED)."""

    def put(state: GpuState, text: str) -> None:
        count = number(text)
        if count is not None:
            setattr(state, field, (getattr(state, field) or 0) + count)

    return put


def kept(field: str, read: Callable[[str], object]) -> Setter:
    def put(state: GpuState, text: str) -> None:
        setattr(state, field, read(text))

    return put


def name(text: str) -> str:
    return text.strip()


# The path of a value inside its GPU, by its last parts -> the field that it fills.
FIELDS: Final[dict[tuple[str, ...], Setter]] = {
    ("Volatile", "DRAM Uncorrectable"): added("dram_uncorrected"),
    ("Volatile", "SRAM Uncorrectable"): added("sram_uncorrected"),
    ("Volatile", "SRAM Uncorrectable Parity"): added("sram_uncorrected"),
    ("Volatile", "SRAM Uncorrectable SEC-DED"): added("sram_uncorrected"),
    ("Aggregate", "DRAM Uncorrectable"): added("dram_uncorrected_ever"),
    ("Aggregate", "SRAM Uncorrectable"): added("sram_uncorrected_ever"),
    ("Aggregate", "SRAM Uncorrectable Parity"): added("sram_uncorrected_ever"),
    ("Aggregate", "SRAM Uncorrectable SEC-DED"): added("sram_uncorrected_ever"),
    ("Remapped Rows", "Uncorrectable Error"): kept("remapped_uncorrected", number),
    ("Remapped Rows", "Pending"): kept("remap_pending", yes),
    ("Remapped Rows", "Remapping Failure Occurred"): kept("remap_failed", yes),
    ("Retired Pages", "Double Bit ECC"): kept("retired_double", number),
    ("Retired Pages", "Pending Page Blacklist"): kept("retirement_pending", yes),
    ("Link Width", "Max"): kept("link_width_max", number),
    ("Link Width", "Current"): kept("link_width", number),
    ("PCIe Generation", "Max"): kept("link_gen_max", number),
    ("PCIe Generation", "Current"): kept("link_gen", number),
    ("Temperature", "GPU Current Temp"): kept("celsius", number),
    ("Temperature", "GPU Slowdown Temp"): kept("slowdown_celsius", number),
    ("Temperature", "GPU T.Limit Temp"): kept("celsius_left", number),
    ("Performance State",): kept("performance_state", name),
    ("Persistence Mode",): kept("persistence", yes),
    ("GPU Recovery Action",): kept("recovery_action", name),
    ("Fabric", "State"): kept("fabric_state", name),
    ("Fabric", "Status"): kept("fabric_status", name),
    ("Health", "Bandwidth"): kept("fabric_bandwidth", name),
    ("Health", "Route Unhealthy"): kept("fabric_route_unhealthy", yes_or_true),
}


def claimed(head: str) -> bool:
    if FIRST_VALUES.match(head) is not None:
        return True
    return "NVSMI LOG" in head and CLAIM.search(head[:2000]) is not None


def read(text: str, reading: Reading) -> None:
    state: GpuState | None = None
    path: list[tuple[int, str]] = []
    begun = False
    last = 1
    gpus = attached = 0
    seen: set[str] = set()
    if FIRST_VALUES.match(text):
        begun = True
    for index, line in lines_of(text, MAX_LINE):
        if not begun:
            begun = CLAIM.search(line) is not None
            reading.first_line = index if begun else 1
            continue
        found = GPU.match(line)
        if found is not None:
            if state is not None:
                judge(state, reading)
            state, path, last = GpuState(bus_id(found[1]) or found[1], index), [], index
            gpus += 1
            seen.clear()
            continue
        if state is None and (count := ATTACHED.match(line)) is not None:
            attached = int(count[1])
        if not line.strip():
            continue
        if not line[0].isspace() and state is not None:
            break  # the report has ended; what follows is another program's
        last = index
        if state is not None:
            take(line, path, state)
            if line.startswith(ENTIRE):
                seen.add(line[4:].partition(":")[0].strip())
    if state is None:
        reading.skip(None, "no GPU is listed in it")
    else:
        judge(state, reading)
    # With `-i` one GPU is listed, whatever is attached.
    if 1 < gpus < attached:
        reading.unknown("gpu.state", f"breaks off: {gpus} of {attached} GPUs are in it", line=last)
    elif attached and "Product Name" in seen and "Processes" not in seen:
        reading.unknown("gpu.state", "breaks off: the last GPU's processes are missing", line=last)
    reading.last_line = last


def take(line: str, path: list[tuple[int, str]], state: GpuState) -> None:
    """One value, or one more section; ``path`` is (indentation, name) of the open sections."""
    found = VALUE.match(line)
    if found is None:
        return
    depth = len(found[1])
    while path and path[-1][0] >= depth:
        path.pop()
    if found[3] is None:
        path.append((depth, found[2]))
        return
    section = path[-1][1] if path else ""
    if section in REASONS:
        reason(state, found[2], found[3])
        return
    put = FIELDS.get((section, found[2])) or (FIELDS.get((found[2],)) if not path else None)
    if put is not None:
        put(state, found[3])


def reason(state: GpuState, said: str, value: str) -> None:
    active = yes(value)
    if active is None:
        return
    found = state.throttled or ()
    state.throttled = (*found, said.lower()) if active and said.lower() != "idle" else found


SMI_TEXT: Final = CheckFormat(
    "nvidia_smi_q", claimed, read, cut_as="gpu.state", part=GPU, words=("NVSMI LOG", "GPU ")
)
