"""Growth of error counters by node and day, put into the record of a fleet."""

from dataclasses import replace

import numpy as np
from sqlalchemy.orm import Session

from triage.fleet.record.columns import CounterDays, FleetRecord
from triage.fleet.record.node_exposure import NS_PER_DAY
from triage.fleet.store import telemetry


def with_counters(session: Session, record: FleetRecord) -> FleetRecord:
    """The record with the counters of its nodes, over its own time; as it is without any."""
    since, until = (ns // NS_PER_DAY for ns in (record.since_ns, record.until_ns - 1))
    seen = telemetry.seen_days(session, since, until + 1, cluster=record.cluster)
    place = {name: index for index, name in enumerate(record.nodes)}
    seen = [row for row in seen if row[0] in place]
    if not seen:
        return record
    rows = [
        row
        for row in telemetry.grown_days(session, since, until + 1, cluster=record.cluster)
        if row[0] in place
    ]
    names = telemetry.COUNTERS
    growth = np.array([row[2:] for row in rows], np.float64).reshape(len(rows), len(names))
    counters = CounterDays(
        node=np.array([place[row[0]] for row in rows], np.int32),
        day=np.array([row[1] - since for row in rows], np.int32),
        growth={name: growth[:, at] for at, name in enumerate(names)},
        seen_node=np.array([place[row[0]] for row in seen], np.int32),
        first_day=np.array([row[1] - since for row in seen], np.int32),
        last_day=np.array([row[2] - since for row in seen], np.int32),
    )
    return replace(record, counters=counters)
