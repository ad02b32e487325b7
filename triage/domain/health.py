"""What a check of a node found: dcgmi, NCCL tests, `nvidia-smi -q`, counters, a drain."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from triage.domain.category import Category


class Outcome(StrEnum):
    """How a check ended."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """What a test of collectives within one node measured, in GB/s.

    Those of the same ``test`` (``all_reduce``) on the same model of GPU, with the same size in
    bytes and number of ranks, may be held against each other.
    """

    test: str
    gpu: str
    size_bytes: int
    num_ranks: int
    gbps: float


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check of one node, or of one part of it.

    ``check`` is a stable name such as ``dcgm.memory`` or ``ib.link_state``; ``part`` is the GPU
    (``dddd:bb:dd``), the device or the port that it looked at, None for the node as a whole.
    ``at`` is when it ran, None where nothing says it. ``category`` is what a failure would be.
    ``bandwidth`` is what was measured, where that may be held against other nodes.
    """

    node: str | None
    check: str
    outcome: Outcome
    at: datetime | None = None
    part: str | None = None
    detail: str = ""
    category: Category | None = None
    artifact: str = ""
    line: int | None = None
    bandwidth: Bandwidth | None = None
