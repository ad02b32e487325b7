"""Nodes: the history of one."""

from typing import Any, Final
from urllib.parse import quote

from fastapi import Depends, Request
from starlette.responses import RedirectResponse, Response

from triage.api.access import Scope, get_caller
from triage.api.requests.values import PathName, check_query, name_in_path
from triage.api.state import get_state
from triage.clock import read_utc_now
from triage.errors import NotFound
from triage.fleet.render.page import render_grade_word
from triage.fleet.services.health.due_list import list_check_rows
from triage.fleet.services.standings import get_kept_standings
from triage.fleet.services.telemetry.rollups import sum_node_telemetry
from triage.render.pictures.markup import Html
from triage.store import nodes
from triage.web.access import admit
from triage.web.pages import page
from triage.web.route import page_router

router = page_router("/nodes", admit(Scope.READ))
_MAX_CHECKS: Final = 200


@router.get("", name="page_find_node", dependencies=[Depends(check_query("name"))])
def find_node(name: str = "") -> Response:
    """To the page of the node that was typed."""
    if name.strip():
        return RedirectResponse(f"/nodes/{quote(name.strip()[:256], safe='')}", 303)
    return RedirectResponse("/incidents", 303)


@router.get("/{node}", name="page_node", dependencies=[Depends(check_query())])
def node_history(request: Request, node: PathName) -> Response:
    """How it stands in the fleet and why; its incidents, its distinct errors, its checks."""
    name, now = name_in_path("node", node), read_utc_now()
    cluster = get_caller(request).cluster
    with get_state(request).context.database.reading() as session:
        found = nodes.read_history(session, name, cluster=cluster)
        checks = [] if found is None else list_check_rows(session, now, cluster=cluster, node=name)
        measured = sum_node_telemetry(session, now, cluster=cluster, node=name).get(name)
    if found is None:
        raise NotFound(
            f"nothing has named the node {name} yet", hint="give its name as the scheduler does"
        )
    standings = get_kept_standings(get_state(request).context, cluster)
    standing = next((row.to_dict() for row in standings.nodes if row.node == name), None)
    return page(
        request,
        "node.html",
        history=found,
        standing=standing,
        grade=_render_grade(standing),
        standings=standings,
        checks=checks[:_MAX_CHECKS],
        num_checks=len(checks),
        measured=measured,
    )


def _render_grade(standing: dict[str, Any] | None) -> Html | None:
    """The word of a standing with its sign."""
    return None if standing is None else render_grade_word(standing["grade"])
