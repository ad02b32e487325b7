"""What the fleet's own rate says of what is planned: larger jobs, checkpoints."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.fleet.record.exposed import Exposed
from triage.fleet.report.options import FleetOptions
from triage.fleet.report.rates import Origin, OriginCount, Rates, SizeTest
from triage.statistics.dispersion import Dispersion
from triage.statistics.estimate import Estimate
from triage.statistics.ettr import (
    CheckpointPlan,
    MeasuredEttr,
    RunCosts,
    compute_downtime_budget_min,
    compute_expected_ettr,
    compute_young_s,
    measure_ettr,
    plan_checkpoints,
    solve_longest_restart_s,
)
from triage.statistics.projection import (
    Projection,
    estimate_job_mtti,
    estimate_run_survival,
    project,
)

# The sizes of jobs that a rate is from: those that hold the middle nine tenths of GPU-hours, and
# the usual one.
_MIDDLE: Final = (0.05, 0.5, 0.95)


@dataclass(frozen=True, slots=True)
class SurvivalPoint:
    """Probability that a job of the reference size runs ``hours`` undisturbed."""

    num_gpus: int
    hours: float
    probability: Estimate


@dataclass(frozen=True, slots=True)
class EttrPlan:
    """Effective training time of the reference job, and what stands in the way of more.

    ``expected`` is the closed form at Young's interval; ``valid`` False says that it is outside
    its validity. ``measured`` is of all runs, GPU-hour by GPU-hour, without the time between
    runs. ``budget_min`` is what one interruption may cost at ``wanted``; ``longest_restart_s``
    the restart that still gives it, None where none does.
    """

    wanted: float
    interval_s: float | None
    expected: Estimate
    valid: bool | None
    longest_restart_s: float | None
    measured: MeasuredEttr
    budget_min: float | None


def find_usual_sizes(seen: Exposed) -> tuple[int, tuple[int, int]] | None:
    """GPUs of the usual job (median by GPU-hours), and the range that the rate is from."""
    weight = seen.hours * seen.gpus
    if not weight.sum():
        return None
    found = np.quantile(seen.gpus, _MIDDLE, method="inverted_cdf", weights=weight)
    low, middle, high = np.maximum(found, 1).astype(int).tolist()
    return middle, (low, high)


def estimate_reference_mtti(figures: Rates, num_gpus: int | None) -> Estimate:
    """Hours between stops of the reference job; the record's own MTTI where no size is known."""
    per_million = figures.per_million_gpu_hours
    if num_gpus is None or per_million.high is None:
        return figures.mtti
    return estimate_job_mtti(convert_to_gpu_hour(figures), num_gpus)


def project_sizes(
    figures: Rates,
    origins: tuple[OriginCount, ...],
    gpu_hours: float,
    usual: tuple[int, tuple[int, int]] | None,
    warnings: tuple[str, ...],
    sizes: tuple[int, ...],
) -> tuple[Projection, ...]:
    """Jobs of these sizes; empty where no GPU-hours are known.

    Software keeps the rate that it has in a job of the ``usual`` size: there the two figures meet.
    """
    if usual is None:
        return ()
    counts = {one.origin: one.count for one in origins}
    software, every = counts[Origin.SOFTWARE], sum(counts.values())
    triaged = every > counts[Origin.UNKNOWN]
    return tuple(
        project(
            convert_to_gpu_hour(figures),
            size,
            seen_gpus=usual[1],
            hardware_per_gpu_hour=(every - software) / gpu_hours if triaged else None,
            software_per_job_hour=software / gpu_hours * usual[0] if triaged else None,
            warnings=warnings,
        )
        for size in sizes
    )


def compute_survival_points(
    figures: Rates, num_gpus: int | None, options: FleetOptions
) -> tuple[SurvivalPoint, ...]:
    """The reference job over ``options.survival_hours``."""
    if num_gpus is None or figures.per_million_gpu_hours.high is None:
        return ()
    one = convert_to_gpu_hour(figures)
    return tuple(
        SurvivalPoint(num_gpus, hours, estimate_run_survival(one, num_gpus, hours))
        for hours in options.survival_hours
    )


def list_checkpoint_plans(mtti: Estimate, options: FleetOptions) -> tuple[CheckpointPlan, ...]:
    """A plan for each cost, with ``options.checkpoint_cost_s`` first."""
    costs = dict.fromkeys((options.checkpoint_cost_s, *options.checkpoint_costs_s))
    return tuple(plan_checkpoints(cost, mtti, restart_s=options.restart_s) for cost in costs)


def plan_ettr(seen: Exposed, mtti: Estimate, options: FleetOptions) -> EttrPlan:
    """Expected at the reference size, measured over all runs."""
    cost, restart = options.checkpoint_cost_s, options.restart_s

    def closed(hours: float) -> float:
        interval = compute_young_s(cost, hours * 3600)
        return compute_expected_ettr(
            24 / hours, restart_s=restart, interval_s=interval, write_s=cost
        ).share

    usual = mtti.value if mtti.value is not None else mtti.low
    interval = None if not usual else compute_young_s(cost, usual * 3600)
    valid = longest = None
    if usual and interval:
        form = compute_expected_ettr(
            24 / usual, restart_s=restart, interval_s=interval, write_s=cost
        )
        valid = form.valid
        longest = solve_longest_restart_s(
            options.wanted_ettr, 24 / usual, interval_s=interval, write_s=cost
        )
    stopped = np.zeros(len(seen.start_h), np.bool_)
    stopped[seen.run[seen.run >= 0]] = True
    costs = RunCosts(interval or 0.0, cost if interval else 0.0, restart)
    weight = seen.gpus if seen.gpu_hours else None
    measured = measure_ettr(seen.start_h, seen.end_h, stopped, costs=costs, weight=weight)
    return EttrPlan(
        options.wanted_ettr,
        interval,
        mtti.growing(closed, "share"),
        valid,
        longest,
        measured,
        compute_downtime_budget_min(seen.job_hours, seen.events, wanted=options.wanted_ettr),
    )


def convert_to_gpu_hour(figures: Rates) -> Estimate:
    """The rate per GPU-hour."""
    return figures.per_million_gpu_hours.growing(lambda one: one / 1e6, "per GPU-h")


def list_rate_warnings(size_test: SizeTest, spread: Dispersion) -> tuple[str, ...]:
    """What speaks against one rate for all sizes."""
    said: list[str] = []
    if size_test.differs:
        said.append(
            "the rate per GPU-hour is not the same at all sizes seen "
            f"(p = {size_test.p_value:.2g}): one over N is not the whole story here"
        )
    if spread.clustered:
        said.append(
            f"stops come in clusters (variance {spread.factor:.1f} x mean): the band is widened"
        )
    return tuple(said)
