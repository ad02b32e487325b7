"""The interruption table of the Llama 3 405B training run: what other fleets are compared with.

Counts, never percentages: the percentages printed in the paper do not add up to one, the counts
add up to 419. Source: "The Llama 3 Herd of Models" (arXiv 2407.21783), section 3.3.4, table 5:
54 days of one job on 16,384 GPUs.
"""

from enum import StrEnum
from typing import Final


class Parent(StrEnum):
    """What a row of the table belongs to."""

    GPU = "GPU"
    HOST = "Host"
    NETWORK = "Network"
    DEPENDENCY = "Dependency"
    MAINTENANCE = "Unplanned maintenance"
    UNKNOWN = "Unknown"


LLAMA3_COUNTS: Final = {
    "Faulty GPU": 148, "GPU HBM3 Memory": 72, "Software Bug": 54, "Network Switch/Cable": 35,
    "Host Maintenance": 32, "GPU SRAM Memory": 19, "GPU System Processor": 17, "NIC": 7,
    "NCCL Watchdog Timeouts": 7, "Silent Data Corruption": 6,
    "GPU Thermal Interface + Sensor": 6, "SSD": 3, "Power Supply": 3, "Server Chassis": 2,
    "IO Expansion Board": 2, "Dependency": 2, "CPU": 2, "System Memory": 2,
}  # fmt: skip
"""Unexpected interruptions by row, as the paper orders them."""

LLAMA3_PARENT: Final = {
    "Faulty GPU": Parent.GPU, "GPU HBM3 Memory": Parent.GPU, "Software Bug": Parent.DEPENDENCY,
    "Network Switch/Cable": Parent.NETWORK, "Host Maintenance": Parent.MAINTENANCE,
    "GPU SRAM Memory": Parent.GPU, "GPU System Processor": Parent.GPU, "NIC": Parent.HOST,
    "NCCL Watchdog Timeouts": Parent.UNKNOWN, "Silent Data Corruption": Parent.GPU,
    "GPU Thermal Interface + Sensor": Parent.GPU, "SSD": Parent.HOST,
    "Power Supply": Parent.HOST, "Server Chassis": Parent.HOST,
    "IO Expansion Board": Parent.HOST, "Dependency": Parent.DEPENDENCY, "CPU": Parent.HOST,
    "System Memory": Parent.HOST,
}  # fmt: skip

LLAMA3_UNEXPECTED: Final = sum(LLAMA3_COUNTS.values())
LLAMA3_PLANNED: Final = 47  # counted apart; never part of a time between interruptions
LLAMA3_HOURS: Final = 54 * 24
LLAMA3_GPUS: Final = 16_384
LLAMA3_NODES: Final = 2_048
