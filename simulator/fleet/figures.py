"""The figures by which a record of faults is held against published ones."""

from dataclasses import dataclass

import numpy as np

from triage.fleet.record.columns import FleetRecord
from triage.fleet.record.faults import faults_of

_STEP_DAYS = 0.25


@dataclass(frozen=True, slots=True)
class Figures:
    """Of unplanned outages; NaN where there is too little to say it of.

    ``rate_per_1000`` node-days, a dispersion is variance over mean, ``failed_nodes`` is the part
    of the nodes with a fault, ``again_in_7``: of the returns that the record follows for so
    long, the part after which that node failed again within 7 days.
    """

    rate_per_1000: float
    daily_dispersion: float
    most_in_a_day: float
    node_dispersion: float
    failed_nodes: float
    repair_median_days: float
    repair_mean_days: float
    repair_longest_days: float
    again_in_7: float
    again_in_30: float
    away_mean: float
    away_dispersion: float


def figures_of(record: FleetRecord) -> Figures:
    """The figures of a record that has outages."""
    faults = faults_of(record)
    start, end = faults.start_day, faults.end_day
    begins = start[faults.begun]
    daily = np.bincount(begins.astype(np.int64), minlength=int(faults.days))[: int(faults.days)]
    by_node = np.bincount(faults.node[faults.begun], minlength=faults.num_nodes)
    order = np.lexsort((start, faults.node))
    same = faults.node[order][1:] == faults.node[order][:-1]
    gap = np.full(len(order), np.inf)
    gap[:-1][same] = (start[order][1:] - end[order][:-1])[same]
    back = faults.back[order]
    times = np.arange(0, faults.days, _STEP_DAYS)
    away = np.searchsorted(np.sort(start), times, "right")
    away = away - np.searchsorted(np.sort(end), times, "right")

    def again(days: float) -> float:
        followed = gap[back & (end[order] < faults.days - days)]
        return float((followed <= days).mean()) if len(followed) else np.nan

    length = end - start
    return Figures(
        rate_per_1000=1000 * len(begins) / (faults.num_nodes * faults.days),
        daily_dispersion=_dispersion(daily),
        most_in_a_day=float(daily.max(initial=0)),
        node_dispersion=_dispersion(by_node),
        failed_nodes=float((by_node > 0).mean()),
        repair_median_days=float(np.median(length)) if len(length) else np.nan,
        repair_mean_days=float(length.mean()) if len(length) else np.nan,
        repair_longest_days=float(length.max(initial=0.0)),
        again_in_7=again(7.0),
        again_in_30=again(30.0),
        away_mean=float(away.mean()),
        away_dispersion=_dispersion(away),
    )


def _dispersion(counts: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> float:
    """Variance over mean: 1 of a Poisson count."""
    return float(counts.var() / counts.mean()) if counts.any() else np.nan
