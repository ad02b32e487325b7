"""All signatures, in the order in which they are tried: the specific before the general.

To add a signature: one entry in its family's TOML file. To add a family: such a file, and
one line here; a module beside it where entries need readers.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from triage.signatures.gpu import (
    amdgpu,
    cuda,
    gpu_monitor,
    gpu_names,
    gpu_thermal,
    gpu_tools,
    habanalabs,
    nvidia_driver,
    sxid,
    xid,
)
from triage.signatures.host import (
    boot,
    decoded_checks,
    filesystem,
    hardware_names,
    health_agents,
    host_daemons,
    ipmi_sel,
    lockup,
    memory_cpu,
    network_storage,
    node_lifecycle,
    nvme_storage,
    oom,
    pcie,
    power,
    segfault,
    vendor_agents,
)
from triage.signatures.load import load
from triage.signatures.network import (
    c10d,
    fabric_libraries,
    gloo,
    nccl,
    nccl_identity,
    nic,
    switches,
)
from triage.signatures.program import (
    coordination,
    crash_reports,
    data_loading,
    engines,
    environment,
    numerics,
    progress,
    python_errors,
    silent_corruption,
    storage,
)
from triage.signatures.scheduler import (
    batch_systems,
    kubernetes,
    launchers,
    scheduler,
    slurm_controller,
    torchelastic,
)
from triage.signatures.signature import Reading, Signature

FAMILIES: tuple[tuple[Signature, ...], ...] = (
    # what kernels print
    xid.SIGNATURES,
    sxid.SIGNATURES,
    nvidia_driver.SIGNATURES,
    pcie.SIGNATURES,
    amdgpu.SIGNATURES,
    gpu_monitor.SIGNATURES,
    habanalabs.SIGNATURES,
    gpu_thermal.SIGNATURES,
    nvme_storage.SIGNATURES,
    filesystem.SIGNATURES,
    network_storage.SIGNATURES,
    decoded_checks.SIGNATURES,
    memory_cpu.SIGNATURES,
    switches.SIGNATURES,
    nic.SIGNATURES,
    oom.SIGNATURES,
    lockup.SIGNATURES,
    ipmi_sel.SIGNATURES,
    vendor_agents.SIGNATURES,
    power.SIGNATURES,
    boot.SIGNATURES,
    segfault.SIGNATURES,
    node_lifecycle.SIGNATURES,
    slurm_controller.SIGNATURES,
    kubernetes.SIGNATURES,
    batch_systems.SIGNATURES,
    host_daemons.SIGNATURES,
    load("triage.signatures.host.boot_chatter"),
    load("triage.signatures.host.daily_chatter"),
    # what jobs print
    load("triage.signatures.program.advice"),
    load("triage.signatures.program.recorder_analyzer"),
    nccl_identity.SIGNATURES,
    gpu_tools.SIGNATURES,
    silent_corruption.SIGNATURES,
    health_agents.SIGNATURES,
    cuda.SIGNATURES,
    crash_reports.SIGNATURES,
    c10d.SIGNATURES,
    coordination.SIGNATURES,
    gloo.SIGNATURES,
    nccl.SIGNATURES,
    fabric_libraries.SIGNATURES,
    environment.SIGNATURES,
    torchelastic.SIGNATURES,
    launchers.SIGNATURES,
    engines.SIGNATURES,
    scheduler.SIGNATURES,
    storage.SIGNATURES,
    data_loading.SIGNATURES,
    numerics.SIGNATURES,
    python_errors.SIGNATURES,
    progress.SIGNATURES,
    gpu_names.SIGNATURES,
    hardware_names.SIGNATURES,
)


@dataclass(frozen=True, slots=True)
class Match:
    """A signature found in a line, where, and what it read there."""

    signature: Signature
    found: re.Match[str]
    reading: Reading


@cache
def load_all_signatures() -> tuple[Signature, ...]:
    """Every signature, first the one that is tried first."""
    return tuple(one for family in FAMILIES for one in family)


@cache
def _map_by_literal() -> dict[str, tuple[int, ...]]:
    """Literal -> indices into :func:`load_all_signatures`, ascending."""
    table: dict[str, list[int]] = {}
    for index, one in enumerate(load_all_signatures()):
        for text in one.literals:
            table.setdefault(text, []).append(index)
    return {text: tuple(indices) for text, indices in table.items()}


def find_candidates(line: str) -> list[Signature]:
    """The signatures one of whose literals is in ``line``, in their order."""
    lowered = line.lower()
    table = _map_by_literal()
    found = {index for text, indices in table.items() if text in lowered for index in indices}
    return [load_all_signatures()[index] for index in sorted(found)]


def match(line: str, after: Sequence[str] = ()) -> Match | None:
    """The first signature that ``line`` (with the lines ``after`` it) matches, None for none."""
    for signature in find_candidates(line):
        match = signature.pattern.search(line)
        if match is None:
            continue
        reading = Reading() if signature.read is None else signature.read(match, after)
        if reading is not None:
            return Match(signature, match, reading)
    return None
