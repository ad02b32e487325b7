"""From the GPUs we had to the GPUs we plan: time between interruptions, survival of a run.

MTTI(N) = 1 / (rate a GPU-hour x N), and a run of N GPUs lasts t hours with exp(-rate N t).
Assumes that each GPU fails on its own at the rate seen; a bug in software does not come twice
as often on twice the GPUs, so the part of a job's own is projected apart where it is known.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Final

from triage.domain.wire import WireForm
from triage.statistics.estimate import Estimate

FAR: Final = 4.0
"""Beyond this many times the range of sizes seen, a projection carries a warning."""
SIZES: Final = (
    8, 64, 256, 1_024, 2_048, 4_096, 8_192, 16_384, 24_576, 32_768, 65_536, 100_000, 131_072,
    262_144, 524_288, 1_000_000,
)  # fmt: skip
"""Sizes of jobs, in GPUs, that a projection is drawn for."""


@dataclass(frozen=True, slots=True)
class Projection(WireForm):
    """One size of job: ``mtti`` in hours when everything grows with N.

    ``software_fixed`` keeps the causes that do not grow with N at their rate a job-hour; None
    where they are not told apart. ``warnings`` say why not to take it at its word.
    """

    num_gpus: int
    mtti: Estimate
    software_fixed: Annotated[
        float | None, "Hours, if software stops it no more often than the jobs seen."
    ]
    warnings: tuple[str, ...] = ()


def estimate_job_mtti(gpu_hour_rate: Estimate, num_gpus: int) -> Estimate:
    """Hours between interruptions of a job of ``num_gpus``, from a rate per GPU-hour."""
    return gpu_hour_rate.falling(
        lambda one: 1.0 / (one * num_gpus) if one * num_gpus else math.inf, "h"
    )


def estimate_run_survival(gpu_hour_rate: Estimate, num_gpus: int, hours: float) -> Estimate:
    """Probability that ``num_gpus`` run ``hours`` without an unexpected interruption."""
    return gpu_hour_rate.falling(lambda one: math.exp(-one * num_gpus * hours), "probability")


def project(
    gpu_hour_rate: Estimate,
    num_gpus: int,
    *,
    seen_gpus: tuple[int, int] | None,
    hardware_per_gpu_hour: float | None = None,
    software_per_job_hour: float | None = None,
    warnings: tuple[str, ...] = (),
) -> Projection:
    """One size, with its warnings; ``seen_gpus`` is the range of sizes that the rate is from.

    ``warnings`` are those that hold for every size. The two rates apart are for a job in which
    hardware grows with N and software does not.
    """
    said = list(warnings)
    if seen_gpus is None:
        said.append("no size of job was recorded: the range of the rate is not known")
    elif num_gpus > FAR * seen_gpus[1] or num_gpus * FAR < seen_gpus[0]:
        said.append(
            f"{num_gpus:,} GPUs are more than {FAR:g} times outside the sizes seen "
            f"({seen_gpus[0]:,} to {seen_gpus[1]:,})"
        )
    fixed = None
    if hardware_per_gpu_hour is not None and software_per_job_hour is not None:
        every = hardware_per_gpu_hour * num_gpus + software_per_job_hour
        fixed = 1 / every if every > 0 else None
    return Projection(num_gpus, estimate_job_mtti(gpu_hour_rate, num_gpus), fixed, tuple(said))
