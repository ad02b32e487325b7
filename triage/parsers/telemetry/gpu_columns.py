"""A table of GPUs at one moment: ``nvidia-smi --query-gpu`` without ``timestamp``.

::

    index, pci.bus_id, utilization.gpu [%], utilization.memory [%], power.draw [W]
    0, 00000000:18:00.0, 100 %, 0 %, 232.50 W

No sample of telemetry is without a time; what the GPUs did at one moment is a look.
"""

from typing import Final

from triage.parsers.telemetry.columns import Columns

_SAYS_WHICH: Final = frozenset({"index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id"})


def is_gpu_table(columns: Columns) -> bool:
    """Whether it tells how busy each GPU is, and not when."""
    return (
        columns.time < 0
        and "utilization.gpu" in columns.names
        and not _SAYS_WHICH.isdisjoint(columns.names)
    )
