"""How far training can grow before failures come as fast as a checkpoint is written.

M/N is the time between failures of N GPUs, and a checkpoint takes tau(N) = tau0 (N/N0)^(a - b):
a = 0 for one model, 1/2 for a model that grows with its compute (parameters ~ sqrt(compute)),
b for storage that grows too. Reproduces the two figures of Epoch AI ("Hardware failures won't
limit AI scaling"): about 70 and 4 million GPUs. The scaling is ours; their text gives none.
"""

from dataclasses import dataclass

from triage.errors import UsageError


@dataclass(frozen=True, slots=True)
class Limits:
    """The knobs: what a planning page lets people turn.

    ``gpu_hours_between`` is GPU-hours between failures; ``save_s`` what one transfer of the
    state takes at ``at_gpus``; ``growth`` is a, ``storage_growth`` b; ``transfers`` is 1 for a
    save, 2 for a save and a load; ``wanted`` the share of effective time.
    """

    gpu_hours_between: float
    save_s: float
    at_gpus: int = 16_384
    growth: float = 0.0
    storage_growth: float = 0.0
    transfers: float = 1.0
    wanted: float = 0.9


def compute_gpu_limit(knobs: Limits) -> float | None:
    """GPUs at which the transfers take all the time between two failures.

    N^(1 + a - b) = M N0^(a - b) / (transfers x tau0); None where storage outgrows it.
    """
    return _solve_limit(knobs, 1.0)


def compute_useful_limit(knobs: Limits) -> float | None:
    """GPUs up to which the wanted share of effective time can be had: sqrt(2C/M) <= 1 - share.

    The useful number beside the theoretical one.
    """
    if not 0 < knobs.wanted < 1:
        raise UsageError("the wanted share lies between 0 and 1")
    return _solve_limit(knobs, 2 / (1 - knobs.wanted) ** 2)


def _solve_limit(knobs: Limits, transfers_between: float) -> float | None:
    if min(knobs.gpu_hours_between, knobs.save_s, knobs.at_gpus, knobs.transfers) <= 0:
        raise UsageError("time between failures, save, GPUs and transfers are above zero")
    power = knobs.growth - knobs.storage_growth
    if power <= -1:
        return None
    seconds = knobs.gpu_hours_between * 3600 / (knobs.save_s * knobs.transfers)
    return float((seconds * knobs.at_gpus**power / transfers_between) ** (1 / (1 + power)))
