"""Acts of other pages: what waits, what was done, and whether acting is halted."""

from triage.actions.store import acts
from triage.actions.store.acts import NodeActView
from triage.domain.acting import ActionState
from triage.services.context import Context
from triage.web.mount import Acts

_FEW = 10


def list_acts(ctx: Context, cluster: str | None) -> Acts:
    """For the overview: what waits, what was done last, and whether it is halted."""
    with ctx.database.reading() as session:
        waiting = acts.list_node_acts(
            session, cluster=cluster, state=ActionState.PROPOSED, limit=_FEW
        )
        newest = acts.list_node_acts(session, cluster=cluster, limit=_FEW)
        why = ctx.acting.halted(session, ctx.settings)
    acts_on = ctx.settings.act_cluster
    others = [one for one in newest if one.state is not ActionState.PROPOSED]
    halted = [] if why is None or cluster not in (None, acts_on) else [(acts_on, why)]
    return Acts(waiting, others, halted)


def list_acts_of_incident(ctx: Context, incident_id: str) -> list[NodeActView]:
    """Acts of an incident, the first first; none where acting is off and nothing was done."""
    with ctx.database.reading() as session:
        return acts.list_incident_acts(session, incident_id)
