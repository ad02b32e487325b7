"""Who is who: the lines in which libraries tell rank, GPU, process and world size.

NCCL's ``rank`` counts within the communicator that the line opens: it is the
global rank only where ``nranks`` is the world size. ``busId 9b000`` is the PCI
address ``0000:9b:00.0`` without its marks and leading zeros.
"""

import re
from collections.abc import Sequence

from triage.signatures.load import load
from triage.signatures.signature import Reading


def format_gpu_bus(bus: str) -> str | None:
    """``9b000`` as ``0000:9b:00``; None where it is no such number."""
    digits = bus.lower().removeprefix("0x")
    # Newer libraries print a device index at this place.
    if not 4 <= len(digits) <= 9 or re.fullmatch(r"[0-9a-f]+", digits) is None:
        return None
    digits = digits.zfill(9)
    return f"{digits[:4]}:{digits[4:6]}:{digits[6:8]}"


def with_gpu(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The printed bus id in the form of this house."""
    return Reading(gpu=format_gpu_bus(match["bus"]) if match["bus"] else None)


SIGNATURES = load(
    __name__,
    framework_rank=lambda match, _after: Reading(
        fields={
            "rank": next(
                match[name]
                for name in ("rank", "init_rank", "process_rank", "store_rank", "barrier_rank")
                if match[name]
            )
        }
    ),
)
