"""What the fleet does beside an incident: keeps its run, knows its nodes, owes its digest."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from triage.domain.standing import Prior
from triage.fleet.services.exposure.job_run import tell_failure
from triage.fleet.services.exposure.writer import ExposureWriter
from triage.fleet.services.standings.priors import priors_for
from triage.fleet.services.weekly.due import enqueue_digest
from triage.fleet.store.brought import num_brought, withdraw
from triage.services.context import Context
from triage.settings import Settings

__all__ = ["RecordedFleet"]


class RecordedFleet:
    """:class:`triage.services.context.FleetHooks` over the record in the database."""

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

    def num_brought(
        self, session: Session, key_id: str, since: datetime | None
    ) -> Mapping[str, int]:
        """Runs, outages, results of checks and days of telemetry that a token has brought."""
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
