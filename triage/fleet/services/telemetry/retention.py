"""Old days of telemetry are removed."""

from datetime import timedelta

from triage.clock import read_utc_now
from triage.fleet.store import telemetry
from triage.services.context import Context


def prune_telemetry(ctx: Context, older_than_days: float) -> int:
    """Remove days of telemetry older than that; how many days of nodes were removed."""
    before = read_utc_now() - timedelta(days=older_than_days)
    removed = 0
    while True:
        with ctx.database.writing() as session:
            some = telemetry.drop_before(session, before)
        removed += some
        if not some:
            return removed
