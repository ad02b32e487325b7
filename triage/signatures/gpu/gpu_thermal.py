"""GPUs that slow down or stop for heat, in the words of health daemons and collectors.

The kernel does not say it; agents that read NVML do. A GPU that throttles makes its
ranks late and its job slow, so it is a warning until somebody speaks of a shutdown.
``Not Active`` is the healthy state. Full reports of nvidia-smi are read elsewhere.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.signatures.load import load
from triage.signatures.pci import normalize_bus_id
from triage.signatures.severity import get_group_text
from triage.signatures.signature import Reading


def reason(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Heat, or the power brake that a chassis pulls."""
    bus = get_group_text(match, "bus")
    gpu = normalize_bus_id(bus) if bus else None
    if "brake" in get_group_text(match, "reason"):
        return Reading(category=Category.POWER, also=(Category.GPU_THERMAL,), gpu=gpu)
    if "software" in get_group_text(match, "reason") or get_group_text(match, "reason").startswith(
        "sw"
    ):
        return Reading(gpu=gpu, weak=True)
    return Reading(gpu=gpu)


SIGNATURES = load(__name__)
