"""GPUs that slow down or stop for heat, in the words of health daemons and collectors.

The kernel does not say it; agents that read NVML do. A GPU that throttles makes its
ranks late and its job slow, so it is a warning until somebody speaks of a shutdown.
``Not Active`` is the healthy state. Full reports of nvidia-smi are read elsewhere.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Kind
from triage.signatures.family import FATAL, WARN, HostFamily, says
from triage.signatures.pci import bus_id
from triage.signatures.signature import Reading, Scope

__all__ = ["SIGNATURES"]

AGENTS = "NVML clock event reasons as health agents word them"
DCGM = "NVIDIA: DCGM, messages of dcgmi diag and health"

WHO = r"(?:GPU[ :-]{1,2}(?P<bus>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?)[^\n]{0,40}?)?"
COOLING = (Category.CHASSIS,)


def reason(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Heat, or the power brake that a chassis pulls."""
    bus = says(match, "bus")
    gpu = bus_id(bus) if bus else None
    if "brake" in says(match, "reason"):
        return Reading(category=Category.POWER, also=(Category.GPU_THERMAL,), gpu=gpu)
    if "software" in says(match, "reason") or says(match, "reason").startswith("sw"):
        return Reading(gpu=gpu, weak=True)
    return Reading(gpu=gpu)


THERMAL = HostFamily(
    "gpu_thermal", Kind.THERMAL, category=Category.GPU_THERMAL, also=COOLING, scope=Scope.ANY
)

THERMAL.root(
    "shutdown",
    rf"{WHO}(?:\bGPU\b[^\n]{{0,60}}?(?:thermal shutdown|(?:over-?|over )temp(?:erature)?"
    r"[^\n]{0,30}?shut(?:ting)? ?down|(?:reached|exceeded|above) (?:the |its )?shutdown temp))",
    literals=(
        "thermal shutdown",
        "over temperature",
        "over-temperature",
        "overtemp",
        "shutdown temp",
    ),
    matches=(
        "GPU 3: thermal shutdown at 106 C",
        "GPU 00000000:1B:00.0 reached the shutdown temperature, powering off",
        "GPU 1 over temperature, shutting down",
    ),
    near_misses=("        GPU Shutdown Temp                 : 92 C", "CPU3: thermal shutdown"),
    source=AGENTS,
    severity=FATAL,
    read=reason,
)
THERMAL.root(
    "slowdown",
    rf"{WHO}\b(?P<reason>(?:HW|SW|hardware|software)[ _](?:thermal[ _]|power[ _]brake[ _])?"
    r"slowdown)"
    r" ?(?:(?:is |was |has been )?(?:engaged|asserted|triggered|detected|activated)|"
    r"(?:is |now )active\b|[=:] ?(?:true|1)\b|\([^)\n]{1,60}\) (?:is )?engaged)",
    literals=(
        "hw slowdown",
        "sw slowdown",
        "hardware slowdown",
        "software slowdown",
        "thermal slowdown",
        "brake slowdown",
        "hw_slowdown",
        "thermal_slowdown",
        "brake_slowdown",
    ),
    matches=(
        "GPU-5f0c1d2e: HW Slowdown is engaged due to high temperature or power brake assertion",
        "hw thermal slowdown is engaged, reducing the core clocks by a factor of 2 or more",
        "GPU 00000000:1B:00.0 HW Power Brake Slowdown detected",
        "health: sw_thermal_slowdown=true",
    ),
    near_misses=(
        "HW Slowdown is not engaged",
        "HW Slowdown : Not Active",
        "the new optimizer causes a slowdown",
        "hw_slowdown: false",
    ),
    source=AGENTS,
    severity=WARN,
    also=(Category.CHASSIS, Category.POWER),
    read=reason,
)
THERMAL.root(
    "clock_reason",
    r"(?:throttle|event)_reasons[._](?P<reason>(?:hw|sw)_(?:thermal_|power_brake_)?slowdown)\"?"
    r" {0,20}[:=,] {0,4}\"?(?:Active|true|1)\b",
    literals=("reasons.hw_", "reasons.sw_thermal", "reasons_hw_", "reasons_sw_thermal"),
    matches=(
        "clocks_throttle_reasons.hw_thermal_slowdown: Active",
        'clocks_event_reasons.hw_power_brake_slowdown="Active"',
        "clocks_event_reasons_hw_slowdown = 1",
    ),
    near_misses=(
        "clocks_throttle_reasons.hw_thermal_slowdown: Not Active",
        "clocks_event_reasons.hw_slowdown, clocks_event_reasons.active",
    ),
    source="NVIDIA: nvidia-smi --query-gpu",
    severity=WARN,
    also=(Category.CHASSIS, Category.POWER),
    read=reason,
)
THERMAL.root(
    "violation",
    r"Thermal violations totaling|thermal violation(?:s)? (?:detected|occurred|on GPU)|"
    r"throttl\w{1,5} due to (?:a )?thermal|DCGM_FR_(?:CLOCK_THROTTLE_THERMAL|TEMP_VIOLATION|"
    r"THERMAL_VIOLATIONS)",
    literals=(
        "thermal violation",
        "due to thermal",
        "dcgm_fr_clock_throttle_thermal",
        "dcgm_fr_temp_violation",
        "dcgm_fr_thermal_violations",
    ),
    matches=(
        "Thermal violations totaling 12.5 seconds started at 8.0 seconds into the test for GPU 6",
        "Detected clock throttling due to thermal violation for GPU 6",
        "error code DCGM_FR_CLOCK_THROTTLE_THERMAL (GPU 6)",
    ),
    near_misses=("DCGM_FI_DEV_THERMAL_VIOLATION 0", "no thermal violation was seen"),
    source=DCGM,
    severity=WARN,
)
THERMAL.root(
    "temperature_limit",
    r"\bTemperature (?:of )?(?P<celsius>\d{2,3}) ?C? (?:of|for|on) GPU (?P<gpu_index>\d{1,2}) "
    r"exceed|\bGPU (?P<index>\d{1,2})\b[^\n]{0,20}? temperature (?:is |of )?"
    r"(?P<degrees>\d{2,3}) ?C? exceed",
    literals=("maximum allowed temperature", "the slowdown threshold", "the shutdown threshold"),
    matches=(
        "Temperature 97 of GPU 2 exceeded user-specified maximum allowed temperature 85",
        "GPU 2 HBM temperature 103 C exceeds the slowdown threshold",
    ),
    near_misses=("GPU 2 temperature 43 C", "sampling temperature 0.7"),
    source=DCGM,
    severity=WARN,
)

SIGNATURES = THERMAL.signatures()
