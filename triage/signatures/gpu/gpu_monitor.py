"""GPUs that throttle, in the lines of a monitor: one line a GPU and time, in any form.

The line alone says that the clocks are lowered for heat or by the power brake; whether the
GPU is slower than its peers is judged where all lines lie beside each other. A power cap in
force is how busy GPUs work.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.signatures.gpu.gpu_reading import GpuReading, parse_gpu_reading
from triage.signatures.load import load
from triage.signatures.signature import Reading


def _list_fields(sample: GpuReading) -> dict[str, str]:
    fields: dict[str, str] = {} if sample.at is None else {"time": sample.at}
    if sample.node is not None:
        fields["node"] = sample.node
    if sample.gpu is None and sample.index is not None:
        fields["cuda_device"] = str(sample.index)
    if sample.local_rank is not None:
        fields["local_rank"] = str(sample.local_rank)
    if sample.rank is not None:
        fields["of_rank"] = str(sample.rank)
    for name, value in (
        ("temperature_c", sample.temp_c),
        ("clock_mhz", sample.clock_mhz),
        ("power_w", sample.power_w),
    ):
        if value is not None:
            fields[name] = f"{value:g}"
    return fields


def slowed(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """A GPU that is slowed for heat, or by the power brake; firm where it is hot too."""
    sample = parse_gpu_reading(match.string)
    if sample is None or not (sample.heat or sample.brake):
        return None
    if sample.brake:
        return Reading(
            category=Category.POWER,
            also=(Category.CHASSIS, Category.GPU_THERMAL),
            gpu=sample.gpu,
            weak=not sample.hardware and not sample.heat,
            fields=_list_fields(sample),
        )
    return Reading(gpu=sample.gpu, weak=not sample.hot, fields=_list_fields(sample))


def hot(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """A GPU as hot as those that slow down, of which nothing says that it does."""
    sample = parse_gpu_reading(match.string)
    if sample is None or not sample.hot or sample.heat or sample.brake:
        return None
    return Reading(gpu=sample.gpu, fields=_list_fields(sample))


def measured(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """Any other monitor's line about one GPU."""
    sample = parse_gpu_reading(match.string)
    return None if sample is None else Reading(gpu=sample.gpu, fields=_list_fields(sample))


SIGNATURES = load(__name__)
