"""A failure is reported: its incident is opened, or the one that is there is found."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from triage.clock import utc_now
from triage.domain.job import job_from_dict
from triage.errors import Unavailable
from triage.notify.guard import Guard
from triage.notify.message import DEFAULT_EVENTS
from triage.services.context import Context
from triage.services.uploads.facts import without_secrets
from triage.store import jobs
from triage.store.incidents import incidents
from triage.store.messages import subscriptions
from triage.store.views import IncidentView

__all__ = ["Failure", "announce"]


@dataclass(frozen=True, slots=True)
class Failure:
    """What a job-failed hook says. ``facts`` is the job.json object as it came."""

    job_id: str
    cluster: str | None = None
    failed_at: datetime | None = None
    facts: Mapping[str, Any] | None = None
    expected_artifacts: int | None = None
    collect_within_s: float | None = None
    callback_url: str | None = None


def announce(
    ctx: Context,
    failure: Failure,
    *,
    now: datetime | None = None,
    also: Callable[[Session, IncidentView], None] | None = None,
) -> IncidentView:
    """The incident of this failure; said twice, it is the same.

    ``also`` is called in the same transaction.
    Raises :class:`Unprocessable` for a callback address that may not be called.
    """
    now = now or utc_now()
    if failure.callback_url is not None:
        Guard(ctx.settings.webhook_allow).check(failure.callback_url, where="body/callback_url")

    def write(session: Session) -> IncidentView:
        facts = without_secrets(failure.facts or {})
        incident_id = incidents.announce(
            session,
            cluster=failure.cluster or "",
            job_id=failure.job_id,
            failed_at=failure.failed_at,
            facts=facts,
            expected_artifacts=failure.expected_artifacts,
            within_s=failure.collect_within_s or ctx.settings.collect_within_s,
            quiet_s=ctx.settings.quiet_s,
            now=now,
        )
        job = job_from_dict(facts)
        names = {*job.nodes, *job.rank_to_node.values()}
        jobs.saw_nodes(session, jobs.cluster_of(session, incident_id), names, now)
        ctx.fleet.job_failed(
            session,
            failure.job_id,
            facts,
            cluster=failure.cluster or "",
            failed_at=failure.failed_at,
            now=now,
        )
        if failure.callback_url is not None:
            secret = ctx.settings.callback_secret
            subscriptions.add(
                session,
                f"sub_{incident_id}",
                kind="generic",
                url=failure.callback_url,
                routing_key=None,
                secrets=[secret] if secret else [],
                events=[str(event) for event in DEFAULT_EVENTS],
                incident_id=incident_id,
                now=now,
            )
        found = incidents.find(session, incident_id)
        if found is None:
            raise Unavailable("the incident went away while it was opened", hint="send it again")
        if also is not None:
            also(session, found)
        return found

    return ctx.commit(write)
