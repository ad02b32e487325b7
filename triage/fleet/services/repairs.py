"""Repairs of a fleet as they stand: what holds, what does not, who is on probation.

Reads only: outages and notes of the last two years, in a few queries.
"""

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy.orm import Session

from triage.domain.probation import Probation
from triage.fleet.repairs.answer import FleetRepairs, fleet_repairs, list_record_probations
from triage.fleet.services.record.record import read_outage_record
from triage.services.context import Context

# What is older says little of how repairs hold now, and half a year weighs half.
LOOK_BACK: Final = timedelta(days=730)


def answer_repairs(ctx: Context, *, until: datetime, cluster: str | None = None) -> FleetRepairs:
    """Everything on the repairs of a cluster, or of all of them, as of ``until``."""
    with ctx.database.reading() as session:
        record = read_outage_record(session, since=until - LOOK_BACK, until=until, cluster=cluster)
    return fleet_repairs(record)


def list_probations_at(
    session: Session, until: datetime, cluster: str | None = None
) -> tuple[Probation, ...]:
    """The nodes on probation at ``until``, the likeliest to fail first."""
    record = read_outage_record(session, since=until - LOOK_BACK, until=until, cluster=cluster)
    return list_record_probations(record)
