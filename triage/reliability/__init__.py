"""What a record of interruptions says of a fleet: the names for a notebook.

>>> from triage.reliability import fleet_report, record_from_frames

All of them are pure functions over counts and exposure.
"""

from triage.fleet.record.columns import FleetRecord
from triage.fleet.record.from_exports import record_from_exports
from triage.fleet.record.from_frames import record_from_frames
from triage.fleet.repairs.answer import FleetRepairs, fleet_repairs
from triage.fleet.report.options import FleetOptions
from triage.fleet.report.report import FleetReport, fleet_report
from triage.fleet.report.what_if import checkpoints_for, projection_for, spares_for
from triage.fleet.standings.places import PlaceRate, place_rates
from triage.fleet.standings.standing import fleet_standings
from triage.statistics.autocorrelation import Agreement, agreement
from triage.statistics.away.forecast import SparesForecast, spares_forecast
from triage.statistics.away.steps import Away, away
from triage.statistics.cause_mix import CauseMix, cause_mix, rows_of
from triage.statistics.checkpoint import (
    CheckpointPlan,
    checkpoint_plan,
    daly_s,
    loss,
    young_s,
)
from triage.statistics.comparing import Comparison, compare_rates
from triage.statistics.daily_cycle import DailyCycle, daily_cycle, samples_needed
from triage.statistics.dispersion import Dispersion, dispersion, wider_mtti, wider_rate
from triage.statistics.estimate import Estimate
from triage.statistics.ettr import downtime_budget_min, expected_ettr, measured_ettr
from triage.statistics.hours_of_day import HoursOfDay, rayleigh
from triage.statistics.lifetimes import Survival, WeibullShape, kaplan_meier, weibull_shape
from triage.statistics.limits import Limits, gpu_limit, save_seconds, useful_limit
from triage.statistics.next_period import Drift, drift, expected_next
from triage.statistics.projection import Projection, mtti_from_node_rate, project, survival
from triage.statistics.rates import mtti, rate
from triage.statistics.silent_days import SilentDays, silent_days
from triage.statistics.spares import Spares, spares_for_availability, spares_in_repair

__all__ = [
    "Agreement",
    "Away",
    "CauseMix",
    "CheckpointPlan",
    "Comparison",
    "DailyCycle",
    "Dispersion",
    "Drift",
    "Estimate",
    "FleetOptions",
    "FleetRecord",
    "FleetRepairs",
    "FleetReport",
    "HoursOfDay",
    "Limits",
    "PlaceRate",
    "Projection",
    "SilentDays",
    "Spares",
    "SparesForecast",
    "Survival",
    "WeibullShape",
    "agreement",
    "away",
    "cause_mix",
    "checkpoint_plan",
    "checkpoints_for",
    "compare_rates",
    "daily_cycle",
    "daly_s",
    "dispersion",
    "downtime_budget_min",
    "drift",
    "expected_ettr",
    "expected_next",
    "fleet_repairs",
    "fleet_report",
    "fleet_standings",
    "gpu_limit",
    "kaplan_meier",
    "loss",
    "measured_ettr",
    "mtti",
    "mtti_from_node_rate",
    "place_rates",
    "project",
    "projection_for",
    "rate",
    "rayleigh",
    "record_from_exports",
    "record_from_frames",
    "rows_of",
    "samples_needed",
    "save_seconds",
    "silent_days",
    "spares_for",
    "spares_for_availability",
    "spares_forecast",
    "spares_in_repair",
    "survival",
    "useful_limit",
    "weibull_shape",
    "wider_mtti",
    "wider_rate",
    "young_s",
]
