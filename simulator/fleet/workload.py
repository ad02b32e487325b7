"""What runs on a simulated fleet, and how much of what stops it is hardware."""

from typing import Final

from triage.domain.category import HARDWARE, LLAMA3_ROW
from triage.domain.llama3 import LLAMA3_COUNTS, LLAMA3_UNEXPECTED

SIZES: Final = ((1, 30), (2, 16), (4, 14), (8, 12), (16, 10), (32, 8), (64, 6), (128, 3), (256, 1))
"""Nodes of a run beside the flagship, and how many of such runs there are to one another."""

MEAN_DAYS: Final = 1.5
FLAGSHIP_DAYS: Final = 7.0
SINCE_NS: Final = 1_780_000_000 * 10**9  # some day: nothing depends on which
OF_HARDWARE: Final = {
    row: count
    for row, count in LLAMA3_COUNTS.items()
    if any(LLAMA3_ROW[one] == row for one in HARDWARE)
}
HARDWARE_SHARE: Final = sum(OF_HARDWARE.values()) / LLAMA3_UNEXPECTED


def node_names(count: int) -> list[str]:
    """Names that sort as their numbers do."""
    return [f"n{number:05d}" for number in range(count)]
