"""What acting does beside an incident, and how the actuator as a whole stands."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from sqlalchemy.orm import Session

from triage.actions.services.propose import by_answer, look_back
from triage.actions.store import actions, halts
from triage.actions.store.halts import HaltView
from triage.actions.store.standings import standing_of
from triage.clock import utc_now
from triage.domain.acting import ActionState, ActMode
from triage.domain.wire import Count, Share, WireForm
from triage.services.context import Context
from triage.settings import Settings

__all__ = ["ActingOnNodes", "ActuatorView", "how_it_stands"]

HOUR = timedelta(hours=1)
WEEK = timedelta(days=7)


class ActingOnNodes:
    """:class:`triage.services.context.ActingHooks` by the rows of acts."""

    def answered(
        self, session: Session, settings: Settings, incident_id: str, now: datetime
    ) -> None:
        """Propose what the answer of a settled incident asks for."""
        by_answer(session, settings, incident_id, now)

    def resolved(
        self, session: Session, settings: Settings, incident_id: str, now: datetime
    ) -> None:
        """Find acts that were wrong by what a person says."""
        standing = standing_of(session, incident_id)
        if standing is not None:
            look_back(session, settings, standing, now)

    def halted(self, session: Session, settings: Settings) -> str | None:
        """Why nothing is done to nodes; None where acts are done, or acting is off."""
        if settings.act_mode is ActMode.OFF:
            return None
        cluster_id = actions.cluster_id_of(session, settings.act_cluster)
        found = None if cluster_id is None else halts.present(session, cluster_id)
        if found is None:
            return None
        return f"acts on nodes are halted since {found.at:%Y-%m-%d %H:%M}Z: {found.reason}"


@dataclass(frozen=True, slots=True)
class ActuatorView(WireForm):
    """What the service does to nodes by itself, what it has done, and whether it is halted."""

    mode: ActMode
    system: str
    cluster: Annotated[str | None, "The one that is acted on; null: incidents that name none."]
    verbs: Sequence[str]
    confidence: Share
    nodes_per_hour: Count
    acted_within_hour: Count
    pool_share: Share
    nodes_out: Annotated[int, "Drained or excluded by acts of this service, and not given back."]
    waiting: Annotated[int, "Proposals that wait for a person."]
    wrong_within_week: Annotated[int, "Since it was last resumed, at most a week."]
    wrong_stop: Count
    halted: HaltView | None


def how_it_stands(ctx: Context) -> ActuatorView:
    """The actuator of the settings' cluster, as of now."""
    settings, now = ctx.settings, utc_now()
    with ctx.database.reading() as session:
        cluster_id = actions.cluster_id_of(session, settings.act_cluster)
        wrong = within_hour = out = 0
        halted = None
        if cluster_id is not None:
            resumed = halts.resumed_at(session, cluster_id)
            since = now - WEEK if resumed is None else max(now - WEEK, resumed)
            wrong = halts.num_wrong(session, cluster_id, since)
            within_hour = len(actions.nodes_since(session, cluster_id, now - HOUR))
            out = len(actions.nodes_out(session, cluster_id, now))
            halted = halts.present(session, cluster_id)
        waiting = sum(
            number
            for (_, state), number in actions.num_by_state(session).items()
            if state == ActionState.PROPOSED
        )
    return ActuatorView(
        mode=settings.act_mode,
        system=settings.act_system,
        cluster=settings.act_cluster or None,
        verbs=settings.act_verbs,
        confidence=settings.act_confidence,
        nodes_per_hour=settings.act_nodes_per_hour,
        acted_within_hour=within_hour,
        pool_share=settings.act_pool_share,
        nodes_out=out,
        waiting=waiting,
        wrong_within_week=wrong,
        wrong_stop=settings.act_wrong_stop,
        halted=halted,
    )
