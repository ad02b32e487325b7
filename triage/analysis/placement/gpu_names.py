"""One GPU by all its names: address, UUID, serial, minor number, number of nvidia-smi, module.

Only what one source says together is one GPU. Names are joined per node, over several sources
where they must be (a UUID's number in one list, its address in another); a name that comes to
two addresses is nobody's.
"""

import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from triage.domain.evidence import Evidence
from triage.signatures.gpu.gpu_names import NAMES, find_names

_Name = tuple[str, str]
_BUS: Final = "bus"
# NCCL's line of a rank that joined a communicator, with its host and its GPU.
JOINED: Final = "identity.nccl_comm"
# A UUID is one GPU's in the whole world; every other name is of its node.
_GLOBAL: Final = frozenset({"gpu_uuid", "gpu_serial"})
_MAX_STEPS: Final = 64


class GpuNames:
    """Which names are one GPU's."""

    def __init__(self) -> None:
        self.joined: dict[tuple[str, _Name], set[_Name]] = defaultdict(set)
        self.homes: dict[_Name, set[str]] = defaultdict(set)

    def add(self, node: str, names: Mapping[str, str]) -> None:
        """These names are of one GPU of ``node``."""
        for one in names.items():
            self.joined[node, one] |= {other for other in names.items() if other != one}
            if one[0] in _GLOBAL:
                self.homes[one].add(node)

    def bus_of(self, node: str, name: _Name) -> str | None:
        """The address of the GPU of ``node`` that has this name; None where nothing or two do."""
        seen = {name}
        open_ = [name]
        while open_ and len(seen) < _MAX_STEPS:
            for other in self.joined.get((node, open_.pop()), ()):
                if other not in seen:
                    seen.add(other)
                    # Two GPUs can share no address: beyond one there is another GPU.
                    if other[0] != _BUS:
                        open_.append(other)
        buses = {value for kind, value in seen if kind == _BUS}
        return next(iter(buses)) if len(buses) == 1 else None

    def home_of(self, name: _Name) -> str | None:
        """The node of the GPU with this UUID or serial, where one alone says so."""
        nodes = self.homes.get(name, set())
        return next(iter(nodes)) if len(nodes) == 1 else None

    def gpu_of(self, row: Evidence, node: str) -> str | None:
        """The address of the GPU that a row without one names."""
        for name in NAMES:
            value = row.fields.get(name)
            if value is not None and (bus := self.bus_of(node, (name, value))) is not None:
                return bus
        return None


def collect_gpu_names(rows: Iterable[tuple[str | None, Evidence]]) -> GpuNames:
    """What rows say together, each with its node."""
    found = GpuNames()
    for node, row in rows:
        if node is None:
            continue
        told = {name: row.fields[name] for name in NAMES if name in row.fields}
        nvml = row.fields.get("nvml_device")
        if row.signature == JOINED and nvml is not None and row.gpu is not None:
            told = {"gpu_index": nvml}
        elif "GPU-" in row.text and (named := find_names(row.text)) is not None:
            told = {**{k: v for k, v in named.fields.items() if k in NAMES}, **told}
            if row.gpu is None and named.gpu is not None:
                told[_BUS] = named.gpu
        if row.gpu is not None:
            told[_BUS] = row.gpu
        if len(told) > 1:
            found.add(node, told)
    return found


# CUDA and nvidia-smi number equal GPUs in the order of their PCI addresses, so an address is a
# local rank as soon as all addresses of a node are known: from the logs of all its sister nodes
# together, or because the machine is of a type that is built only one way.


def _parse_addresses(text: str) -> tuple[str, ...]:
    return tuple(one if ":" in one else f"0000:{one}:00" for one in text.split())


@cache
def _load_layouts() -> list[tuple[str, ...]]:
    """The layouts of ``gpu_layouts.toml``."""
    rows = tomllib.loads(files(__package__).joinpath("gpu_layouts.toml").read_text("utf-8"))
    return [_parse_addresses(text) for text in rows.values()]


def infer_layout(seen: Collection[str], per_node: int) -> tuple[str, ...]:
    """The addresses of a node's GPUs by index; empty where they are not known for certain.

    ``seen`` are the addresses of GPUs on nodes of one type, ``per_node`` how many a node has.
    """
    if not seen or per_node < 1:
        return ()
    if len(seen) == per_node:
        return tuple(sorted(seen))
    fitting = [
        layout for layout in _load_layouts() if len(layout) == per_node and set(seen) <= set(layout)
    ]
    # One address may be that of many a machine that is not in the table.
    return fitting[0] if len(fitting) == 1 and len(seen) > 1 else ()
