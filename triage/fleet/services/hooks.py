"""What the fleet does beside an incident: keeps its run, knows its nodes, owes its digest.

What reckons with the record is imported where it is first needed: most of what a process starts
with would be that.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import structlog
from sqlalchemy.orm import Session

from triage.domain.job import make_job
from triage.domain.probation import Probation
from triage.domain.standing import FleetStandings, Prior
from triage.services.context import Context, FleetHooks
from triage.settings import Settings
from triage.store.uploads.evidence import Reading

log = structlog.get_logger(__name__)
# Of an incident whose nodes nobody listed: the worst of the fleet.
MAX_PRIORS: Final = 256


def select_priors(found: FleetStandings, nodes: set[str]) -> dict[str, Prior]:
    """The priors of these nodes; where none are listed, of the worst of the fleet."""
    from triage.fleet.standings.words import make_prior

    priors: dict[str, Prior] = {}
    for one in found.nodes:  # the worst come first
        if nodes and one.node not in nodes:
            continue
        prior = make_prior(one, found.window_days)
        if prior is None or len(priors) == MAX_PRIORS:
            continue
        priors[one.node] = prior
    return priors


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
        from triage.fleet.services.exposure.job_ended import tell_failure
        from triage.fleet.services.exposure.writer import ExposureWriter

        writer = ExposureWriter(now, key_id)
        tell_failure(session, writer, job_id, facts, cluster=cluster, failed_at=failed_at)

    def saw_parts(
        self, session: Session, cluster_id: int, readings: Sequence[Reading], now: datetime
    ) -> None:
        """Keep the stays of the parts that these files name."""
        from triage.fleet.services.parts import keep_seen_parts

        keep_seen_parts(session, cluster_id, readings, now)

    def num_brought(
        self, session: Session, key_id: str, since: datetime | None
    ) -> Mapping[str, int]:
        """What a token has brought of runs, outages, parts, checks and telemetry."""
        from triage.fleet.store.brought import count_brought

        return count_brought(session, key_id, since)

    def withdraw(self, session: Session, key_id: str, since: datetime | None) -> Mapping[str, int]:
        """Remove them; how many of each kind."""
        from triage.fleet.store.brought import withdraw

        return withdraw(session, key_id, since)

    def subscribed(self, session: Session, settings: Settings, now: datetime) -> None:
        """Enqueue the weekly digest where the receiver wants it."""
        from triage.fleet.services.weekly import enqueue_digest

        enqueue_digest(session, settings, now)

    def priors(
        self, ctx: Context, facts: Mapping[str, Any], cluster: str | None
    ) -> Mapping[str, Prior]:
        """What the first answer of an incident is told of its nodes, as of now.

        Where our own record fails there are none: an answer does not wait for history.
        """
        from triage.fleet.services.standings import get_kept_standings

        job = make_job(dict(facts))
        try:
            found = get_kept_standings(ctx, cluster or None)
        except Exception:
            log.exception("no standings for an analysis", cluster=cluster)
            return {}
        return select_priors(found, {*job.nodes, *job.rank_to_node.values()})

    def probation(self, ctx: Context, node: str, cluster: str | None) -> Probation | None:
        """What the kept standings say of a node."""
        from triage.fleet.services.standings import get_kept_standings

        rows = get_kept_standings(ctx, cluster).nodes
        return next((row.probation for row in rows if row.node == node), None)
