"""The metrics that are read, under one name each, whoever exported them.

Units stand in the name. What an exporter calls otherwise is mapped here; what is
mapped to nothing is passed over, for a scrape holds far more than this reads.
"""

from dataclasses import dataclass
from enum import StrEnum
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


_DCGM: Final = {
    "gpu_temp": Source(Metric.GPU_TEMP_C),
    "memory_temp": Source(Metric.MEMORY_TEMP_C),
    "power_usage": Source(Metric.POWER_W),
    "sm_clock": Source(Metric.SM_CLOCK_MHZ),
    "mem_clock": Source(Metric.MEMORY_CLOCK_MHZ),
    "clock_throttle_reasons": Source(Metric.THROTTLE_REASONS),
    "clocks_event_reasons": Source(Metric.THROTTLE_REASONS),
    "fan_speed": Source(Metric.FAN_PERCENT),
    "gpu_util": Source(Metric.UTILISATION_PERCENT),
    "mem_copy_util": Source(Metric.MEMORY_BUSY_PERCENT),
    "power_mgmt_limit": Source(Metric.POWER_LIMIT_W),
    "enforced_power_limit": Source(Metric.POWER_LIMIT_W),
    "ecc_sbe_vol_total": Source(Metric.ECC_SBE_TOTAL, part="volatile"),
    "ecc_dbe_vol_total": Source(Metric.ECC_DBE_TOTAL, part="volatile"),
    "ecc_sbe_agg_total": Source(Metric.ECC_SBE_TOTAL, part="aggregate"),
    "ecc_dbe_agg_total": Source(Metric.ECC_DBE_TOTAL, part="aggregate"),
    "correctable_remapped_rows": Source(Metric.REMAPPED_ROWS_CORRECTABLE),
    "uncorrectable_remapped_rows": Source(Metric.REMAPPED_ROWS_UNCORRECTABLE),
    "row_remap_pending": Source(Metric.REMAPPED_ROWS_PENDING),
    "row_remap_failure": Source(Metric.REMAPPED_ROWS_FAILURE),
    "nvlink_crc_flit_error_count_total": Source(Metric.NVLINK_ERRORS_CRC, part="flit"),
    "nvlink_crc_data_error_count_total": Source(Metric.NVLINK_ERRORS_CRC, part="data"),
    "nvlink_replay_error_count_total": Source(Metric.NVLINK_ERRORS_REPLAY),
    "nvlink_recovery_error_count_total": Source(Metric.NVLINK_ERRORS_RECOVERY),
    "xid_errors": Source(Metric.LAST_XID),
}
# `nvidia-smi --help-query-gpu`, without the unit that `--format=csv` adds in brackets.
_NVIDIA_SMI: Final = {
    "temperature.gpu": Source(Metric.GPU_TEMP_C),
    "temperature.memory": Source(Metric.MEMORY_TEMP_C),
    "power.draw": Source(Metric.POWER_W),
    "power.draw.average": Source(Metric.POWER_W),
    "power.draw.instant": Source(Metric.POWER_W, part="instant"),
    "clocks.sm": Source(Metric.SM_CLOCK_MHZ),
    "clocks.current.sm": Source(Metric.SM_CLOCK_MHZ),
    "clocks.mem": Source(Metric.MEMORY_CLOCK_MHZ),
    "clocks.current.memory": Source(Metric.MEMORY_CLOCK_MHZ),
    "fan.speed": Source(Metric.FAN_PERCENT),
    "utilization.gpu": Source(Metric.UTILISATION_PERCENT),
    "utilization.memory": Source(Metric.MEMORY_BUSY_PERCENT),
    "power.limit": Source(Metric.POWER_LIMIT_W),
    "enforced.power.limit": Source(Metric.POWER_LIMIT_W),
    "clocks_throttle_reasons.active": Source(Metric.THROTTLE_REASONS),
    "clocks_event_reasons.active": Source(Metric.THROTTLE_REASONS),
    "ecc.errors.corrected.volatile.total": Source(Metric.ECC_SBE_TOTAL, part="volatile"),
    "ecc.errors.uncorrected.volatile.total": Source(Metric.ECC_DBE_TOTAL, part="volatile"),
    "ecc.errors.corrected.aggregate.total": Source(Metric.ECC_SBE_TOTAL, part="aggregate"),
    "ecc.errors.uncorrected.aggregate.total": Source(Metric.ECC_DBE_TOTAL, part="aggregate"),
    "remapped_rows.correctable": Source(Metric.REMAPPED_ROWS_CORRECTABLE),
    "remapped_rows.uncorrectable": Source(Metric.REMAPPED_ROWS_UNCORRECTABLE),
    "remapped_rows.pending": Source(Metric.REMAPPED_ROWS_PENDING),
    "remapped_rows.failure": Source(Metric.REMAPPED_ROWS_FAILURE),
}
_OTHERS: Final = {
    "dcgm_fi_prof_gr_engine_active": Source(Metric.UTILISATION_PERCENT, 100.0, part="engine"),
    "nvidia_smi_temperature_gpu": Source(Metric.GPU_TEMP_C),
    "nvidia_smi_power_draw_watts": Source(Metric.POWER_W),
    "nvidia_smi_clocks_current_sm_clock_hz": Source(Metric.SM_CLOCK_MHZ, 1e-6),
    "nvidia_smi_utilization_gpu_ratio": Source(Metric.UTILISATION_PERCENT, 100.0),
    "nvidia_smi_utilization_memory_ratio": Source(Metric.MEMORY_BUSY_PERCENT, 100.0),
    "nvidia_smi_power_limit_watts": Source(Metric.POWER_LIMIT_W),
    "node_infiniband_symbol_error_total": Source(Metric.IB_SYMBOL_ERROR),
    "node_infiniband_link_downed_total": Source(Metric.IB_LINK_DOWNED),
    "node_infiniband_link_error_recovery_total": Source(Metric.IB_LINK_ERROR_RECOVERY),
    "node_infiniband_port_receive_errors_total": Source(Metric.IB_PORT_RCV_ERRORS),
    "node_infiniband_port_errors_received_total": Source(Metric.IB_PORT_RCV_ERRORS),
    "node_infiniband_port_transmit_discards_total": Source(Metric.IB_PORT_XMIT_DISCARDS),
    "node_infiniband_port_discards_transmitted_total": Source(Metric.IB_PORT_XMIT_DISCARDS),
    "node_infiniband_local_link_integrity_errors_total": Source(Metric.IB_LOCAL_LINK_INTEGRITY),
    "symbol_error_counter": Source(Metric.IB_SYMBOL_ERROR),
    "link_downed_counter": Source(Metric.IB_LINK_DOWNED),
    "inlet_temperature_celsius": Source(Metric.INLET_TEMP_C),
    "node_inlet_temperature_celsius": Source(Metric.INLET_TEMP_C),
    "step_time_seconds": Source(Metric.STEP_TIME_S),
    "train_step_time_seconds": Source(Metric.STEP_TIME_S),
    "utilisation": Source(Metric.UTILISATION_PERCENT),
}


def _map_throttle_reasons() -> dict[str, Source]:
    """One throttle reason a column: of nvidia-smi by both its names, and as exporters write it."""
    found = {}
    for word, bit in REASON_BITS.items():
        source = Source(Metric.THROTTLE_REASONS, bit=bit)
        for prefix in ("clocks_throttle_reasons", "clocks_event_reasons"):
            found[f"{prefix}.{word}"] = found[f"nvidia_smi_{prefix}_{word}"] = source
    return found


_KNOWN: Final[dict[str, Source]] = {
    **{str(one): Source(one) for one in Metric},
    **{f"dcgm_fi_dev_{name}": source for name, source in _DCGM.items()},
    **_NVIDIA_SMI,
    **_OTHERS,
    **_map_throttle_reasons(),
}


def find_metric(name: str) -> Source | None:
    """What ``name`` stands for; None for what is not read. Case does not matter."""
    return _KNOWN.get(name.strip().lower())
