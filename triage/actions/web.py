"""Pages of acts: the signed link, on which a person decides; and the acts of other pages."""

from typing import Annotated

from anyio import to_thread
from fastapi import Depends, Query, Request
from starlette.responses import Response

from triage.actions.names import MAX_PERSON, parse_link_name
from triage.actions.services import decide
from triage.actions.services.acts import make_decided_conflict
from triage.actions.services.links import is_signed
from triage.actions.store import acts
from triage.actions.store.acts import NodeActView
from triage.api.requests.values import check_id, check_query
from triage.api.state import get_state
from triage.clock import read_utc_now
from triage.domain.acting import ActionState
from triage.errors import NotFound, Unprocessable
from triage.services.context import Context
from triage.web.access import check_origin
from triage.web.mount import Acts
from triage.web.pages import page
from triage.web.requests import read_form
from triage.web.route import page_router

router = page_router("/actions")
_FEW = 10


@router.get(
    "/{id}/decide", name="page_decide", dependencies=[Depends(check_query("until", "proof"))]
)
def decide_page(
    request: Request,
    id: str,  # noqa: A002
    until: Annotated[str, Query()] = "",
    proof: Annotated[str, Query()] = "",
) -> Response:
    """The page behind the link of a message; it decides nothing by itself."""
    one = _load_signed_act(request, id, until, proof)
    return page(
        request, "actions_decide.html", act=one, until=until, proof=proof, now=read_utc_now()
    )


@router.post("/{id}/decide", name="page_decided", dependencies=[Depends(check_query())])
async def decide_by_link(request: Request, id: str) -> Response:  # noqa: A002
    """A person pressed a button on that page."""
    fields = await read_form(request, signed=False)
    check_origin(request)  # the proof is what no page of another origin knows
    decisions = {"approve": decide.approve, "refuse": decide.refuse}

    def run() -> NodeActView:
        one = _load_signed_act(request, id, fields.get("until", ""), fields.get("proof", ""))
        actor = parse_link_name(fields.get("name", ""))
        if actor is None:
            raise Unprocessable(
                "say who you are",
                hint=f"go back and give a name of letters, at most {MAX_PERSON} characters",
            )
        decision = decisions.get(fields.get("decision", ""))
        if decision is None:
            raise Unprocessable("the form says neither yes nor no", hint="open the page again")
        return decision(get_state(request).context, one.id, actor)

    done = await to_thread.run_sync(run)
    return page(request, "actions_decide.html", act=done, until="", proof="", now=read_utc_now())


def _load_signed_act(request: Request, action_id: str, until: str, proof: str) -> NodeActView:
    """The act of a link. Raises :class:`NotFound` for a link that is none of ours, or has ended,
    and :class:`Conflict` for an act that is decided.
    """
    with get_state(request).context.database.reading() as session:
        one = acts.find(session, check_id(action_id, "act", ""))
        if one is None or not is_signed(session, one, until, proof, read_utc_now()):
            raise NotFound(
                "this link is not one of ours, or it has ended",
                hint="`triage act list` shows what waits; the newest message has the newest link",
            )
    if one.state is not ActionState.PROPOSED:
        raise make_decided_conflict(one)
    return one


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
