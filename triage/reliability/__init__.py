"""What a record of interruptions says of a fleet: pure functions over counts and exposure."""

from triage.reliability.autocorrelation import Agreement, agreement
from triage.reliability.cause_mix import CauseMix, cause_mix, rows_of
from triage.reliability.checkpoint import CheckpointPlan, checkpoint_plan, daly_s, loss, young_s
from triage.reliability.comparing import Comparison, compare_rates
from triage.reliability.daily_cycle import DailyCycle, daily_cycle, samples_needed
from triage.reliability.dispersion import Dispersion, dispersion, wider_mtti, wider_rate
from triage.reliability.estimate import Estimate
from triage.reliability.ettr import downtime_budget_min, expected_ettr, measured_ettr
from triage.reliability.fleet_options import FleetOptions
from triage.reliability.fleet_report import FleetReport, fleet_report
from triage.reliability.hours_of_day import HoursOfDay, rayleigh
from triage.reliability.lifetimes import Survival, WeibullShape, kaplan_meier, weibull_shape
from triage.reliability.limits import Limits, gpu_limit, save_seconds, useful_limit
from triage.reliability.projection import Projection, mtti_from_node_rate, project, survival
from triage.reliability.rates import mtti, rate
from triage.reliability.record import FleetRecord
from triage.reliability.record_from_frames import record_from_frames
from triage.reliability.silent_days import SilentDays, silent_days
from triage.reliability.spares import Spares, spares_for_availability, spares_in_repair

__all__ = [
    "Agreement",
    "CauseMix",
    "CheckpointPlan",
    "Comparison",
    "DailyCycle",
    "Dispersion",
    "Estimate",
    "FleetOptions",
    "FleetRecord",
    "FleetReport",
    "HoursOfDay",
    "Limits",
    "Projection",
    "SilentDays",
    "Spares",
    "Survival",
    "WeibullShape",
    "agreement",
    "cause_mix",
    "checkpoint_plan",
    "compare_rates",
    "daily_cycle",
    "daly_s",
    "dispersion",
    "downtime_budget_min",
    "expected_ettr",
    "fleet_report",
    "gpu_limit",
    "kaplan_meier",
    "loss",
    "measured_ettr",
    "mtti",
    "mtti_from_node_rate",
    "project",
    "rate",
    "rayleigh",
    "record_from_frames",
    "rows_of",
    "samples_needed",
    "save_seconds",
    "silent_days",
    "spares_for_availability",
    "spares_in_repair",
    "survival",
    "useful_limit",
    "weibull_shape",
    "wider_mtti",
    "wider_rate",
    "young_s",
]
