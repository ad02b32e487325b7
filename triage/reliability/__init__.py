"""What a record of interruptions says of a fleet: the names for a notebook.

>>> from triage.reliability import fleet_report, record_from_frames

All of them are pure functions over counts and exposure.
"""

from triage.fleet.record.from_rows import record_from_exports, record_from_frames
from triage.fleet.repairs.answer import fleet_repairs
from triage.fleet.report.options import FleetOptions
from triage.fleet.report.report import fleet_report
from triage.fleet.standings.standing import fleet_standings

__all__ = [
    "FleetOptions",
    "fleet_repairs",
    "fleet_report",
    "fleet_standings",
    "record_from_exports",
    "record_from_frames",
]
