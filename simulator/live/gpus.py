"""What ``nvidia-smi`` shows of the GPUs of a job that hangs: kernels that wait spin.

A GPU in a collective that does not end is busy to 100 % and draws a third of its power, without
traffic to its memory. One whose host issued nothing more is idle.
"""

import random
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from simulator.live.standing import Stands

_HEAD: Final = (
    "timestamp, index, utilization.gpu [%], utilization.memory [%], power.draw [W],"
    " power.limit [W], clocks.current.sm [MHz], clocks.current.memory [MHz],"
    " temperature.gpu, pstate"
)
# Utilisation and memory traffic in percent, power in W, clock in MHz, temperature.
_SPINS: Final = (100, 0, 232.0, 1980, 41)
_IDLE: Final = (0, 0, 119.0, 1980, 36)
_WORKS: Final = (97, 58, 648.0, 1755, 63)


def smi_csv(gpus: Sequence[Stands], at: datetime, chance: random.Random) -> str:
    """The table of one node, a row a GPU in the order of ``gpus``."""
    rows = [_HEAD]
    stamp = at.strftime("%Y/%m/%d %H:%M:%S.000")
    for index, stands in enumerate(gpus):
        shown = {Stands.WAITS: _SPINS, Stands.SETS_UP: _IDLE, Stands.WORKS: _WORKS}.get(
            stands, _IDLE
        )
        busy, traffic, power, clock, heat = shown
        rows.append(
            f"{stamp}, {index}, {busy} %, {traffic} %, {power + chance.gauss(0.0, 2.5):.2f} W,"
            f" 700.00 W, {clock} MHz, 2619 MHz, {heat + chance.randrange(5)}, P0"
        )
    return "\n".join(rows) + "\n"
