"""GPUs that throttle, in the lines of a monitor: one line a GPU and time, in any form.

The line alone says that the clocks are lowered for heat or by the power brake; whether the
GPU is slower than its peers is judged where all lines lie beside each other. A power cap in
force is how busy GPUs work.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Kind
from triage.signatures.family import HostFamily
from triage.signatures.gpu.gpu_reading import GpuReading, gpu_reading
from triage.signatures.signature import Reading, Scope

__all__ = ["SIGNATURES"]

SOURCE = "monitors of sites, nvidia-smi --query-gpu and NVML's reasons"

LITERALS = (
    "throttl", "thermal_slowdown", "sm_clk", "sm_mhz", "sm_clock", "clocks_event", "event_reasons",
    "tgpu=", "temp=", "temperature_c", "gpu_temp", " mhz,", "power_brake", "hw_slowdown", "clk=",
    '"temperature"', '"temp":', "smclk", "gfx_clk", "sclk",
)  # fmt: skip
# Anything at all: whether a line is one is asked of all its words.
ANY = r"^"


def fields_of(sample: GpuReading) -> dict[str, str]:
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
    sample = gpu_reading(match.string)
    if sample is None or not (sample.heat or sample.brake):
        return None
    if sample.brake:
        return Reading(
            category=Category.POWER,
            also=(Category.CHASSIS, Category.GPU_THERMAL),
            gpu=sample.gpu,
            weak=not sample.hardware and not sample.heat,
            fields=fields_of(sample),
        )
    return Reading(gpu=sample.gpu, weak=not sample.hot, fields=fields_of(sample))


def hot(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """A GPU as hot as those that slow down, of which nothing says that it does."""
    sample = gpu_reading(match.string)
    if sample is None or not sample.hot or sample.heat or sample.brake:
        return None
    return Reading(gpu=sample.gpu, fields=fields_of(sample))


def measured(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """Any other monitor's line about one GPU."""
    sample = gpu_reading(match.string)
    return None if sample is None else Reading(gpu=sample.gpu, fields=fields_of(sample))


MONITOR = HostFamily("gpu_monitor", Kind.THERMAL, source=SOURCE, scope=Scope.ANY, as_one=True)

MONITOR.root(
    "slowed",
    ANY,
    literals=LITERALS,
    matches=(
        "gpumon: host=gpu-0471 gpu=2 bus=0000:52:00.0 temp=91C hbm_temp=97C power=245.4W"
        " sm_clk=618MHz hw_thermal_slowdown=Active sw_thermal_slowdown=Not Active",
        '{"node": "n12", "gpu": 3, "temperature_c": 93, "power_w": 301, "sm_mhz": 840,'
        ' "clocks_event_reasons": "sw_thermal_slowdown"}',
        "n12/gpu3 tGPU=94 pwr=310 sm=795 hw_thermal_slowdown=1",
        "2026/11/21 03:04:15.123, 3, 00000000:5D:00.0, 93, 302.20 W, 870 MHz, Active, Not Active",
        "gpu=0 temp=61 power=210W clk=345MHz throttle=HW_POWER_BRAKE",
        "gpu 5 temp: 90C clocks_throttle_reasons.active: 0x0000000000000040",
    ),
    near_misses=(
        "gpumon: host=gpu-0471 gpu=2 bus=0000:52:00.0 temp=71C hbm_temp=77C power=585.4W"
        " sm_clk=1918MHz hw_thermal_slowdown=Not Active sw_thermal_slowdown=Not Active",
        "2026/11/21 03:04:15.123, 3, 00000000:5D:00.0, 63, 672.20 W, 1830 MHz, Active, Not Active",
        "gpu=0 temp=64 power=700W clk=1410MHz throttle=sw_power_cap",
        "gpu 5 temp: 60C clocks_throttle_reasons.active: 0x0000000000000004",
        "temp=0.7 top_p=0.9 throttle=hw_thermal_slowdown",
        "sampling gpu=3 temp=0.8 clk=hw_thermal",
    ),
    category=Category.GPU_THERMAL,
    also=(Category.CHASSIS, Category.POWER),
    read=slowed,
)
MONITOR.advice(
    "hot",
    ANY,
    literals=LITERALS,
    matches=(
        "[gpu-mon] 06:28:07 host=n146 gpu=5 temp=94C power=274W sm_clk=882MHz",
        "2026/11/21 03:04:15.123, 3, 00000000:5D:00.0, 88, 692.20 W, 1980 MHz, Not Active",
    ),
    near_misses=(
        "[gpu-mon] 06:28:07 host=n146 gpu=5 temp=64C power=674W sm_clk=1882MHz throttle=none",
    ),
    category=Category.GPU_THERMAL,
    also=(Category.CHASSIS,),
    weak=True,
    read=hot,
)
MONITOR.noise(
    "reading",
    ANY,
    literals=LITERALS,
    matches=(
        "[gpu-mon] 06:28:07 host=n146 gpu=5 temp=56C power=574W sm_clk=1882MHz throttle=none",
        "INFO:telemetry:n3/gpu1 tGPU=57 pwr=612 sm=1875 hw_thermal_slowdown=0",
        "2026/11/21 03:04:15.123, 3, 00000000:5D:00.0, 63, 672.20 W, 1830 MHz, Not Active",
    ),
    near_misses=(
        "sampler: temp=0.7 clk=off gpu=0",
        "requests throttled by the object store, gpu 3 waits",
        "step 812 loss 2.31 lr 3e-4 sm_clk unknown",
    ),
    quiet=True,
    read=measured,
)

SIGNATURES = MONITOR.signatures()
