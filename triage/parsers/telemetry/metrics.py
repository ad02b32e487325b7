"""The metrics that are read, under one name each, whoever exported them.

Units stand in the name. What an exporter calls otherwise is mapped in ``metrics.toml``; what is
mapped to nothing is passed over, for a scrape holds far more than this reads.
"""

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Final


class Metric(StrEnum):
    """One measured quantity; the last word of a name is its unit, or says that it counts."""

    GPU_TEMP_C = "gpu_temp_c"
    MEMORY_TEMP_C = "memory_temp_c"
    POWER_W = "power_w"
    SM_CLOCK_MHZ = "sm_clock_mhz"
    MEMORY_CLOCK_MHZ = "memory_clock_mhz"
    THROTTLE_REASONS = "throttle_reasons"
    FAN_PERCENT = "fan_percent"
    UTILISATION_PERCENT = "utilisation_percent"
    MEMORY_BUSY_PERCENT = "memory_busy_percent"
    POWER_LIMIT_W = "power_limit_w"
    ECC_SBE_TOTAL = "ecc_sbe_total"
    ECC_DBE_TOTAL = "ecc_dbe_total"
    REMAPPED_ROWS_CORRECTABLE = "remapped_rows_correctable"
    REMAPPED_ROWS_UNCORRECTABLE = "remapped_rows_uncorrectable"
    REMAPPED_ROWS_PENDING = "remapped_rows_pending"
    REMAPPED_ROWS_FAILURE = "remapped_rows_failure"
    NVLINK_ERRORS_CRC = "nvlink_errors_crc"
    NVLINK_ERRORS_REPLAY = "nvlink_errors_replay"
    NVLINK_ERRORS_RECOVERY = "nvlink_errors_recovery"
    LAST_XID = "last_xid"
    IB_SYMBOL_ERROR = "ib_symbol_error"
    IB_LINK_DOWNED = "ib_link_downed"
    IB_LINK_ERROR_RECOVERY = "ib_link_error_recovery"
    IB_PORT_RCV_ERRORS = "ib_port_rcv_errors"
    IB_PORT_XMIT_DISCARDS = "ib_port_xmit_discards"
    IB_LOCAL_LINK_INTEGRITY = "ib_local_link_integrity"
    INLET_TEMP_C = "inlet_temp_c"
    STEP_TIME_S = "step_time_s"


COUNTERS: Final = frozenset(
    one for one in Metric if one.startswith(("ecc_", "remapped_rows_", "nvlink_errors_", "ib_"))
)
"""Metrics that only grow, until a reset; of a stretch of time the largest counts."""

# Bits of ``throttle_reasons``, as NVML's header numbers them (nvmlClocksEventReason*).
IDLE: Final = 0x1
POWER_CAP: Final = 0x4
HW_SLOWDOWN: Final = 0x8
_SW_THERMAL: Final = 0x20
_HW_THERMAL: Final = 0x40
BRAKE: Final = 0x80
THERMAL: Final = _SW_THERMAL | _HW_THERMAL
SLOWED: Final = HW_SLOWDOWN | THERMAL | BRAKE
"""Any slowdown that is not the owner's own limit; a power cap alone is how a GPU works."""
REASON_BITS: Final = {
    "gpu_idle": IDLE, "applications_clocks_setting": 0x2, "sw_power_cap": POWER_CAP,
    "hw_slowdown": HW_SLOWDOWN, "sync_boost": 0x10, "sw_thermal_slowdown": _SW_THERMAL,
    "hw_thermal_slowdown": _HW_THERMAL, "hw_power_brake_slowdown": BRAKE,
    "display_clocks_setting": 0x100,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Source:
    """What a foreign name stands for.

    A value is multiplied by ``scale``. ``bit`` is set where the name is one throttle reason of
    its own, 0 otherwise. ``part`` tells apart what would be one series (errors since the boot
    and since ever, CRC errors of flits and of data).
    """

    metric: Metric
    scale: float = 1.0
    bit: int = 0
    part: str | None = None


def _map_throttle_reasons() -> dict[str, Source]:
    """One throttle reason a column: of nvidia-smi by both its names, and as exporters write it."""
    found = {}
    for word, bit in REASON_BITS.items():
        source = Source(Metric.THROTTLE_REASONS, bit=bit)
        for prefix in ("clocks_throttle_reasons", "clocks_event_reasons"):
            found[f"{prefix}.{word}"] = found[f"nvidia_smi_{prefix}_{word}"] = source
    return found


@cache
def _load_sources() -> dict[str, Source]:
    """Every name that is read: our own, throttle reasons and those of ``metrics.toml``."""
    named = files(__package__).joinpath("metrics.toml").read_text("utf-8")
    found = {**{str(one): Source(one) for one in Metric}, **_map_throttle_reasons()}
    for prefix, rows in tomllib.loads(named).items():
        for name, row in rows.items():
            row = row if isinstance(row, dict) else {"metric": row}
            source = Source(**{**row, "metric": Metric(row["metric"])})
            found[f"dcgm_fi_dev_{name}" if prefix == "dcgm_fi_dev" else name] = source
    return found


def find_metric(name: str) -> Source | None:
    """What ``name`` stands for; None for what is not read. Case does not matter."""
    return _load_sources().get(name.strip().lower())
