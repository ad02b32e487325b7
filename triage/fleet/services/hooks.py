"""What the fleet does beside an incident: keeps its run, knows its nodes, owes its digest."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from triage.domain.probation import Probation
from triage.domain.standing import Prior
from triage.fleet.services.exposure.job_run import tell_failure
from triage.fleet.services.exposure.writer import ExposureWriter
from triage.fleet.services.hardware.sightings import saw_parts
from triage.fleet.services.standings.cache import kept_standings
from triage.fleet.services.standings.priors import priors_for
from triage.fleet.services.weekly.due import enqueue_digest
from triage.fleet.store.brought import num_brought, withdraw
from triage.services.context import Context, FleetHooks
from triage.settings import Settings
from triage.store.uploads.evidence import Reading

__all__ = ["RecordedFleet"]


class RecordedFleet(FleetHooks):
    """Over the record in the database."""

    def job_failed(
        self,
        session: Session,
        job_id: str,
        facts: Mapping[str, Any],
        *,
        cluster: str,
        failed_at: datetime | None,
        now: datetime,
        key_id: str | None,
    ) -> None:
        """Keep the run of the job as far as the facts of its incident tell it."""
        writer = ExposureWriter(now, key_id)
        tell_failure(session, writer, job_id, facts, cluster=cluster, failed_at=failed_at)

    def saw_parts(
        self, session: Session, cluster_id: int, readings: Sequence[Reading], now: datetime
    ) -> None:
        """Keep the stays of the parts that these files name."""
        saw_parts(session, cluster_id, readings, now)

    def num_brought(
        self, session: Session, key_id: str, since: datetime | None
    ) -> Mapping[str, int]:
        """What a token has brought of runs, outages, parts, checks and telemetry."""
        return num_brought(session, key_id, since)

    def withdraw(self, session: Session, key_id: str, since: datetime | None) -> Mapping[str, int]:
        """Remove them; how many of each kind."""
        return withdraw(session, key_id, since)

    def subscribed(self, session: Session, settings: Settings, now: datetime) -> None:
        """Enqueue the weekly digest where the receiver wants it."""
        enqueue_digest(session, settings, now)

    def priors(
        self, ctx: Context, facts: Mapping[str, Any], cluster: str | None
    ) -> Mapping[str, Prior]:
        """The standings of the incident's nodes, as of now."""
        return priors_for(ctx, facts, cluster)

    def probation(self, ctx: Context, node: str, cluster: str | None) -> Probation | None:
        """What the kept standings say of a node."""
        rows = kept_standings(ctx, cluster).nodes
        return next((row.probation for row in rows if row.node == node), None)
