"""Which GPU is which: lines that say two names of one GPU, as tools and the driver print them.

A GPU has an address on its bus, a UUID, a serial number, a minor number (``/dev/nvidia3``), a
number of nvidia-smi and a number of its module on the board. Each tool uses its own; only what
one line or one block of a report says together is the same GPU.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from triage.domain.patterns import compile_re
from triage.signatures.pci import normalize_bus_id
from triage.signatures.signature import Reading

ADDRESS: Final = compile_re(
    r"(?:(?<=PCI:)|(?<![0-9A-Fa-f:]))(?:[0-9A-Fa-f]{4,8}:)[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-7])?(?!:?[0-9A-Fa-f])"
)
UUID: Final = compile_re(r"\bGPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)
NAMES: Final = ("gpu_uuid", "gpu_serial", "gpu_minor", "gpu_index", "gpu_module")
"""The fields of a row that name a GPU, beside its address."""

# What the lines of one block say: text of nvidia-smi -q, of its XML, of /proc.
_IN_BLOCK: Final = {
    "gpu_uuid": compile_re(r"(?:GPU UUID\s{0,40}:\s{0,20}|<uuid>)(GPU-[0-9a-f-]{36})", re.I),
    "gpu_serial": compile_re(r"(?:Serial Number\s{0,40}: |<serial>)(\d{6,20})\b", re.I),
    "gpu_minor": compile_re(
        r"(?:(?:Device )?Minor(?: Number)?\s{0,40}:\s{0,20}|<minor_number>)(\d{1,3})\b", re.I
    ),
    "gpu_module": compile_re(r"(?:Module ID\s{0,40}: |<module_id>)(\d{1,3})\b", re.I),
    "bus": compile_re(
        r"(?:Bus (?:Id|Location)\s{0,40}:\s{0,20}|<pci_bus_id>)"
        r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2})",
        re.I,
    ),
}
_NEXT_BLOCK: Final = compile_re(
    r"^\s{0,8}(?:GPU [0-9A-F]{8}:[0-9A-F]{2}:|<gpu id=|\*\*\* |Model:|</gpu>)"
)


def read_block(found: re.Match[str], after: Sequence[str]) -> Reading | None:
    """The names of the GPU whose block this line stands in, up to the next block."""
    names: dict[str, str] = {}
    for index, line in enumerate((found.string, *after)):
        if index and _NEXT_BLOCK.match(line):
            break
        for name, pattern in _IN_BLOCK.items():
            match = pattern.search(line)
            if match is not None:
                names.setdefault(name, match[1].lower())
    return make_reading(names)


def make_reading(names: Mapping[str, str]) -> Reading | None:
    """Two names and more; None for one alone."""
    if len(names) < 2:
        return None
    bus = names.get("bus")
    uuid = names.get("gpu_uuid")
    fields = {name: value for name, value in names.items() if name != "bus"}
    if uuid is not None:
        fields["gpu_uuid"] = f"GPU-{uuid[4:].lower()}"
    return Reading(gpu=normalize_bus_id(bus) if bus else None, fields=fields)


# "3, GPU-8a1f..., 00000000:5D:00.0", 'gpu="3",UUID="GPU-8a1f..."', 'device="nvidia3"'
_LABELS: Final = {
    "gpu_index": compile_re(
        r'(?:\bgpu="|\bindex[=:] ?"?|^\s{0,4}|\bGPU )(\d{1,2})(?=["\s,:])', re.I
    ),
    "gpu_minor": compile_re(r'(?:device="nvidia|/dev/nvidia|minor(?:_number)?[=:] ?"?)(\d{1,2})\b'),
}


def find_names(text: str) -> Reading | None:
    """The names of the one GPU that a line speaks of; None for several, or for one name."""
    uuids = {one.lower() for one in UUID.findall(text)}
    buses = {normalize_bus_id(one) for one in ADDRESS.findall(text)}
    if len(uuids) > 1 or len(buses) > 1:
        return None
    names = {"gpu_uuid": next(iter(uuids))} if uuids else {}
    if buses:
        names["bus"] = next(iter(buses)) or ""
    for name, pattern in _LABELS.items():
        match = pattern.search(text)
        if match is not None:
            names[name] = str(int(match[1]))
    return make_reading(names)


def read_line(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """The names in one line."""
    return find_names(match.string[:1000])
