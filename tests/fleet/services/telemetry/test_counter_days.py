"""Days of counters in the record of a fleet: those of its nodes, over its own time."""

import io
from datetime import timedelta

import numpy as np

from tests.fleet.services.small_fleet import END, LEMON, keep_fleet
from triage.fleet.services.answers import with_counters
from triage.fleet.services.record.record import read_fleet_record
from triage.fleet.services.telemetry.ingest import TelemetryTarget, take_telemetry
from triage.services.context import Context

SINCE = END - timedelta(days=30)


def send(ctx: Context, node: str, values: list[int], cluster: str = "a") -> None:
    """One value of the counter of link recoveries at noon of each day before the end."""
    rows = ["at,node,gpu,nvlink_errors_recovery"]
    for back, value in enumerate(reversed(values), start=1):
        at = END - timedelta(days=back) + timedelta(hours=12)
        rows.append(f"{at.isoformat().replace('+00:00', 'Z')},{node},0,{value}")
    body = "\n".join([rows[0], *reversed(rows[1:])]) + "\n"
    take_telemetry(ctx, TelemetryTarget(cluster=cluster), io.BytesIO(body.encode()).read, None)


def record(ctx: Context, cluster: str | None = "a"):
    with ctx.database.reading() as session:
        bare = read_fleet_record(session, since=SINCE, until=END, cluster=cluster)
        return with_counters(session, bare)


def test_growth_is_by_node_and_day_of_the_record(ctx, monkeypatch):
    monkeypatch.setattr("triage.clock.read", lambda: END)
    keep_fleet(ctx)
    send(ctx, LEMON, [0, 0, 7, 7, 9])
    send(ctx, LEMON, [0, 4], cluster="b")

    found = record(ctx)

    counters = found.counters
    assert counters is not None
    assert [found.nodes[node] for node in counters.seen_node] == [LEMON]
    assert (counters.first_day.tolist(), counters.last_day.tolist()) == ([25], [29])
    assert [found.nodes[node] for node in counters.node] == [LEMON, LEMON]
    assert counters.day.tolist() == [27, 29]
    assert counters.growth["link_recovery_growth"].tolist() == [7, 2]
    assert counters.growth["nvlink_growth"].tolist() == [7, 2]
    assert not np.any(counters.growth["ecc_growth"])


def test_without_telemetry_a_record_has_no_counters(ctx):
    keep_fleet(ctx)

    assert record(ctx).counters is None
