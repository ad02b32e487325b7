"""Results of checks as rows of evidence: a failed check of a part can be a root.

A result is a state, found when somebody looked. One that is dated with its zone may be held
against the stop; every other, and what only a reason or a script says, is weak: it needs
another source. Warnings and passes are noise: they show in ``triage parse`` and accuse nobody.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from triage.domain.category import HARDWARE, Category
from triage.domain.evidence import NO_STAMP, Evidence, EvidenceRole, Kind, Stamp
from triage.domain.health import CheckResult, Outcome
from triage.domain.patterns import compile_re
from triage.signatures.pci import normalize_bus_id

_SIGNATURE_PREFIX: Final = "check."
_KINDS: Final = {
    Category.GPU_HBM: Kind.ECC, Category.GPU_SRAM: Kind.ECC, Category.NVLINK: Kind.LINK,
    Category.NETWORK: Kind.LINK, Category.NIC: Kind.NIC, Category.GPU_THERMAL: Kind.THERMAL,
    Category.POWER: Kind.POWER, Category.CHASSIS: Kind.POWER, Category.IO_BOARD: Kind.PCIE,
    Category.SSD: Kind.STORAGE, Category.STORAGE: Kind.STORAGE, Category.CPU: Kind.CPU,
    Category.HOST_MEMORY: Kind.MEMORY, Category.DEPENDENCY: Kind.DEPENDENCY,
    Category.HOST_MAINTENANCE: Kind.SCHEDULER,
}  # fmt: skip
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Results whose category is somebody's words, not a measurement.
_HEARSAY: Final = ("gcm.", "host.", "nhc.", "slurm.", "superbench.")
# "gpu 3" of dcgmi: nvidia-smi's number, which is CUDA's unless a job hides GPUs.
_GPU_NUMBER: Final = compile_re(r"gpu (\d{1,4})", re.ASCII)
_ADDRESS: Final = compile_re(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}", re.ASCII)
UUID: Final = compile_re(r"GPU-[0-9a-fA-F-]{36}", re.ASCII)


def build_check_evidence(result: CheckResult) -> Evidence:
    """The row that a result is."""
    part = result.part or ""
    number = _GPU_NUMBER.fullmatch(part)
    stamp = _make_stamp(result.at)
    accuses = result.outcome is Outcome.FAIL and result.category is not None
    fields = {"outcome": str(result.outcome)}
    if UUID.fullmatch(part):
        fields["gpu_uuid"] = part.lower().replace("gpu-", "GPU-", 1)
    elif part and number is None and _ADDRESS.fullmatch(part) is None:
        fields["device"] = part
    return Evidence(
        artifact=result.artifact,
        line=result.line,
        signature=f"{_SIGNATURE_PREFIX}{result.check}",
        kind=_KINDS.get(result.category, Kind.GPU) if result.category else Kind.GPU,
        role=EvidenceRole.ROOT if accuses else EvidenceRole.NOISE,
        text=_describe_result(result),
        category=result.category,
        weak=_is_weak(result),
        node=result.node,
        cuda_device=int(number[1]) if number else None,
        gpu=normalize_bus_id(part) if _ADDRESS.fullmatch(part) else None,
        stamp=stamp,
        last_stamp=stamp,
        fields=fields,
    )


def _is_weak(result: CheckResult) -> bool:
    """Whether it needs another source before it may convict."""
    return (
        result.at is None
        or result.category not in HARDWARE
        or result.check.startswith(_HEARSAY)
        or result.outcome is not Outcome.FAIL
    )


def _describe_result(result: CheckResult) -> str:
    """``dcgm.memory on gpu 3: fail: 2 double bit errors``."""
    where = f" on {result.part}" if result.part else ""
    said = f": {result.detail}" if result.detail else ""
    return f"{result.check}{where}: {result.outcome}{said}"


def _make_stamp(at: datetime | None) -> Stamp:
    if at is None:
        return NO_STAMP
    return Stamp(wall_ns=(at - _EPOCH) // timedelta(microseconds=1) * 1000, zone_s=0)
