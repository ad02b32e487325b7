"""All signatures, in the order in which they are tried: the specific before the general.

To add a signature: one entry in its family's TOML file. To add a family: such a file, and
one line here; a function in ``readers.py`` of its folder where a line needs code.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from triage.signatures.load import load
from triage.signatures.signature import Reading, Signature

_FILES: Final = (
    # what kernels print
    "gpu/error_codes",
    "gpu/nvidia_driver",
    "host/pcie",
    "gpu/amdgpu",
    "gpu/gpu_monitor",
    "gpu/habanalabs",
    "gpu/gpu_thermal",
    "host/disks",
    "host/network_storage",
    "host/decoded_checks",
    "host/memory_cpu",
    "network/switches",
    "network/nic",
    "host/oom",
    "host/lockup",
    "host/ipmi_sel",
    "host/vendor_agents",
    "host/power",
    "host/boot",
    "host/segfault",
    "host/node_lifecycle",
    "scheduler/slurm_controller",
    "scheduler/kubernetes",
    "scheduler/batch_systems",
    "host/host_daemons",
    "host/boot_chatter",
    "host/daily_chatter",
    # what jobs print
    "program/advice",
    "program/recorder_analyzer",
    "network/nccl_identity",
    "gpu/gpu_tools",
    "program/silent_corruption",
    "host/health_agents",
    "gpu/cuda",
    "program/crash_reports",
    "network/c10d",
    "program/coordination",
    "network/gloo",
    "network/nccl",
    "network/fabric_libraries",
    "program/environment",
    "scheduler/torchelastic",
    "scheduler/launchers",
    "program/engines",
    "scheduler/scheduler",
    "program/storage",
    "program/data_loading",
    "program/numerics",
    "program/python_errors",
    "program/progress",
    "gpu/gpu_names",
    "host/hardware_names",
)


@dataclass(frozen=True, slots=True)
class Match:
    """A signature found in a line, where, and what it read there."""

    signature: Signature
    found: re.Match[str]
    reading: Reading


def load_families() -> tuple[tuple[Signature, ...], ...]:
    """The signatures of each file."""
    return tuple(load(file) for file in _FILES)


@cache
def load_all_signatures() -> tuple[Signature, ...]:
    """Every signature, first the one that is tried first."""
    return tuple(one for family in load_families() for one in family)


@cache
def _map_by_literal() -> dict[str, tuple[int, ...]]:
    """Literal -> indices into :func:`load_all_signatures`, ascending."""
    table: dict[str, list[int]] = {}
    for index, one in enumerate(load_all_signatures()):
        for text in one.literals:
            table.setdefault(text, []).append(index)
    return {text: tuple(indices) for text, indices in table.items()}


def find_first(candidates: Iterable[Signature], text: str, after: Sequence[str]) -> Match | None:
    """The first of ``candidates`` that ``text`` matches, with the lines behind it that it wants."""
    for signature in candidates:
        found = signature.pattern.search(text)
        if found is None:
            continue
        if signature.read is None:
            return Match(signature, found, Reading())
        reading = signature.read(found, after[: signature.context])
        if reading is not None:
            return Match(signature, found, reading)
    return None


def match(line: str, after: Sequence[str] = ()) -> Match | None:
    """The first signature that ``line`` (with the lines ``after`` it) matches, None for none."""
    lowered = line.lower()
    table = _map_by_literal()
    found = {index for text, indices in table.items() if text in lowered for index in indices}
    ours = load_all_signatures()
    return find_first([ours[index] for index in sorted(found)], line, after)
