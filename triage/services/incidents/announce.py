"""A failure is reported: its incident is opened, or the one that is there is found."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from sqlalchemy.orm import Session

from triage.clock import read_utc_now
from triage.domain.facts import IGNORED
from triage.domain.failure_match import Failure
from triage.domain.job import make_job
from triage.domain.states import WorkKind
from triage.errors import Unavailable
from triage.parsers.redact.own import own_patterns
from triage.services.context import Context
from triage.services.notifications.subscribe import add_callback
from triage.services.uploads.received import redact_facts
from triage.store import jobs, node_notices
from triage.store.access import audit, keys
from triage.store.database.ids import is_made_now
from triage.store.incidents import incidents, matching
from triage.store.views import IncidentView
from triage.store.work import table as work
from triage.store.work.table import yield_turn


def announce(
    ctx: Context,
    failure: Failure,
    *,
    now: datetime | None = None,
    also: Callable[[Session, IncidentView], None] | None = None,
) -> IncidentView:
    """The incident of this failure; said twice, it is the same.

    ``also`` is called in the same transaction.
    Raises :class:`NotAllowed` for what the token is not to say.
    """
    now = now or read_utc_now()
    beside = ctx.quotas.jobs_beside(failure.caller, failure.job_id)
    cluster = failure.caller.check(failure.cluster, job_id=failure.job_id)
    failure = replace(failure, cluster=cluster)

    def write(session: Session) -> IncidentView:
        keys.check_believed(session, failure.caller.key_id)
        own = own_patterns(ctx.settings.redact_patterns)
        facts = redact_facts(failure.facts or {}, own)
        if failure.ignored:
            facts[IGNORED] = {one.field: one.why for one in failure.ignored}
        reported = replace(
            failure,
            facts=facts,
            collect_within_s=failure.collect_within_s or ctx.settings.collect_within_s,
        )
        incident_id = matching.announce(session, reported, ctx.settings.quiet_s, now)
        if is_made_now(incident_id, now):
            ctx.quotas.incident(failure.caller)
        act = "open incident" if is_made_now(incident_id, now) else "report failure"
        actor = failure.caller.key_id or "local"
        detail = {"job_id": failure.job_id}
        audit.note(session, actor, act, incident_id, now, detail, once=True)
        yield_turn(session, incident_id, beside)
        job = make_job(facts)
        names = {*job.nodes, *job.rank_to_node.values()}
        cluster_id = jobs.find_cluster(session, incident_id)
        jobs.note_nodes_seen(session, cluster_id, names, now)
        if node_notices.has_any(session, cluster_id, names):
            work.enqueue(session, WorkKind.ANALYSE, incident_id, now)
        ctx.fleet.job_failed(
            session,
            failure.job_id,
            facts,
            cluster=failure.cluster or "",
            failed_at=failure.failed_at,
            now=now,
            key_id=failure.caller.key_id,
        )
        if failure.callback_url is not None:
            add_callback(session, ctx.settings, incident_id, failure, now)
        found = incidents.find(session, incident_id)
        if found is None:
            raise Unavailable("the incident went away while it was opened", hint="send it again")
        if also is not None:
            also(session, found)
        return found

    return ctx.commit(write)
