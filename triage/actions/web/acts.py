"""Acts on nodes: what waits, what was done, buttons to decide and undo; and the signed link."""

from collections.abc import Callable
from typing import Annotated, Final
from urllib.parse import quote

from anyio import to_thread
from fastapi import Depends, Query, Request
from starlette.responses import RedirectResponse, Response

from triage.actions.names import MAX_PERSON, over_link
from triage.actions.services import decide
from triage.actions.services.actuator import how_it_stands
from triage.actions.services.links import is_signed
from triage.actions.store import actions
from triage.actions.store.actions import NodeActView
from triage.api.access import Scope, actor_of, caller_of
from triage.api.requests.values import known_query, one_id
from triage.api.state import state_of
from triage.clock import utc_now
from triage.domain.acting import ActionState
from triage.errors import NotFound, Unprocessable
from triage.services.context import Context
from triage.web.access import admit, check_origin, visitor_of
from triage.web.act_rows import ActRow, Acts
from triage.web.forms import read_form
from triage.web.pages import page
from triage.web.route import page_router

__all__ = ["list_acts", "of_incident", "router"]

router = page_router("/actions")
READ: Final = [Depends(admit(Scope.READ)), Depends(known_query())]
ADMIN: Final = [Depends(admit(Scope.ADMIN)), Depends(known_query())]
ROWS: Final = 100
FEW: Final = 10
DECISIONS: Final[dict[str, Callable[[Context, str, str], NodeActView]]] = {
    "approve": decide.approve,
    "refuse": decide.refuse,
    "undo": decide.undo,
}


@router.get("", name="page_actions", dependencies=READ)
def list_page(request: Request) -> Response:
    """What waits for a person, what was done, and whether the actuator is halted."""
    ctx = state_of(request).context
    visitor = visitor_of(request)
    with ctx.database.reading() as session:
        rows = actions.listing(session, cluster=caller_of(request).cluster, limit=ROWS)
        waiting = actions.listing(
            session, cluster=caller_of(request).cluster, state=str(ActionState.PROPOSED), limit=ROWS
        )
    own = caller_of(request).sees(ctx.settings.act_cluster or None)
    return page(
        request,
        "actions.html",
        decides=visitor is not None and visitor.may(Scope.ADMIN),
        actuator=how_it_stands(ctx) if own else None,
        waiting=waiting[::-1],
        others=[one for one in rows if one.state is not ActionState.PROPOSED],
        now=utc_now(),
    )


@router.get("/{id}", name="page_action", dependencies=READ)
def one_page(request: Request, id: str) -> Response:  # noqa: A002
    """The act on the page of all."""
    action_id = one_id(id, "act", "")
    with state_of(request).context.database.reading() as session:
        one = actions.find(session, action_id)
    if one is None or not caller_of(request).sees(one.cluster):
        raise NotFound("there is no such act", hint="the page of acts names those that there are")
    return RedirectResponse(f"/actions#{quote(one.id)}", 303)


@router.get(
    "/{id}/decide", name="page_decide", dependencies=[Depends(known_query("until", "proof"))]
)
def decide_page(
    request: Request,
    id: str,  # noqa: A002
    until: Annotated[str, Query()] = "",
    proof: Annotated[str, Query()] = "",
) -> Response:
    """The page behind the link of a message; it decides nothing by itself."""
    one = signed_act(request, id, until, proof)
    return page(request, "actions_decide.html", act=one, until=until, proof=proof, now=utc_now())


@router.post("/{id}/decide", name="page_decided", dependencies=[Depends(known_query())])
async def decide_by_link(request: Request, id: str) -> Response:  # noqa: A002
    """A person pressed a button on that page."""
    fields = await read_form(request, signed=False)
    check_origin(request)  # the proof is what no page of another origin knows

    def run() -> NodeActView:
        one = signed_act(request, id, fields.get("until", ""), fields.get("proof", ""))
        actor = over_link(fields.get("name", ""))
        if actor is None:
            raise Unprocessable(
                "say who you are",
                hint=f"go back and give a name of letters, at most {MAX_PERSON} characters",
            )
        return decision_of(fields)(state_of(request).context, one.id, actor)

    done = await to_thread.run_sync(run)
    return page(request, "actions_decide.html", act=done, until="", proof="", now=utc_now())


def signed_act(request: Request, action_id: str, until: str, proof: str) -> NodeActView:
    """The act of a link. Raises :class:`NotFound` for a link that is none of ours, or has ended,
    and :class:`Conflict` for an act that is decided.
    """
    with state_of(request).context.database.reading() as session:
        one = actions.find(session, one_id(action_id, "act", ""))
        if one is None or not is_signed(session, one, until, proof, utc_now()):
            raise NotFound(
                "this link is not one of ours, or it has ended",
                hint="`triage act list` shows what waits; the newest message has the newest link",
            )
    if one.state is not ActionState.PROPOSED:
        raise decide.decided(one)
    return one


def decision_of(fields: dict[str, str]) -> Callable[[Context, str, str], NodeActView]:
    decision = fields.get("decision", "")
    if decision not in ("approve", "refuse"):
        raise Unprocessable("the form says neither yes nor no", hint="open the page again")
    return DECISIONS[decision]


@router.post("/{id}/{decision}", name="page_act_decided", dependencies=ADMIN)
async def decide_here(request: Request, id: str, decision: str) -> Response:  # noqa: A002
    """The buttons of the page of all acts."""
    await read_form(request)
    action_id = one_id(id, "act", "")
    if decision not in DECISIONS:
        raise NotFound("there is no such page", hint="go back to the page of acts")
    ctx, actor = state_of(request).context, actor_of(request)
    await to_thread.run_sync(DECISIONS[decision], ctx, action_id, actor)
    return RedirectResponse(f"/actions#{quote(action_id)}", 303)


@router.post("/halt", name="page_halt", dependencies=ADMIN)
async def halt_here(request: Request) -> Response:
    """Stop acting on nodes."""
    fields = await read_form(request)
    ctx, actor = state_of(request).context, actor_of(request)
    await to_thread.run_sync(decide.halt, ctx, actor, fields.get("reason", ""))
    return RedirectResponse("/actions", 303)


@router.post("/resume", name="page_resume", dependencies=ADMIN)
async def resume_here(request: Request) -> Response:
    """Act on nodes again."""
    await read_form(request)
    ctx, actor = state_of(request).context, actor_of(request)
    await to_thread.run_sync(decide.resume, ctx, actor)
    return RedirectResponse("/actions", 303)


def list_acts(ctx: Context, cluster: str | None) -> Acts:
    """For the overview: what waits, what was done last, and whether it is halted."""
    with ctx.database.reading() as session:
        waiting = actions.listing(
            session, cluster=cluster, state=str(ActionState.PROPOSED), limit=FEW
        )
        newest = actions.listing(session, cluster=cluster, limit=FEW)
        why = ctx.acting.halted(session, ctx.settings)
    acts_on = ctx.settings.act_cluster
    shows = why is not None and cluster in (None, acts_on)
    return Acts(
        tuple(map(row_of, waiting)),
        tuple(row_of(one) for one in newest if one.state is not ActionState.PROPOSED),
        ((acts_on, why),) if shows and why is not None else (),
    )


def of_incident(ctx: Context, incident_id: str) -> list[ActRow]:
    """Acts of an incident, the first first; none where acting is off and nothing was done."""
    with ctx.database.reading() as session:
        return [row_of(one) for one in actions.of_incident(session, incident_id)]


def row_of(one: NodeActView) -> ActRow:
    at = one.ended_at or one.decided_at or one.created_at
    why = one.error or one.why
    return ActRow(
        one.id, one.node, str(one.verb), str(one.state), one.cluster, one.incident_id, why, at
    )
