"""The overview: what a team keeps open. Incidents, nodes, checks, acts and the queue on one page.

The page holds a part that asks for itself again; it comes only where something has changed.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import Depends, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from triage.api.access import Scope, get_caller
from triage.api.state import get_state
from triage.clock import read_utc_now
from triage.domain.states import IncidentState, WorkState
from triage.fleet.services.health.due_list import CheckRow, get_kept_open_checks
from triage.fleet.services.standings import get_kept_standings
from triage.fleet.web.fleet import Cluster, list_cluster_names
from triage.services.context import ShownActs
from triage.store.incidents import incidents, revisions
from triage.store.views import IncidentView
from triage.store.work import backlog
from triage.web.access import admit
from triage.web.pages import page, page_router
from triage.web.requests import drop_blanks

router = page_router("/overview", admit(Scope.READ))
_ROWS: Final = 12
_MOST_READ: Final = 200
_QUEUED: Final = (WorkState.WAITING, WorkState.RUNNING, WorkState.QUARANTINED)
# An answered incident of which nobody said what it was counts as open for so long.
_RECENT: Final = timedelta(hours=24)
EVERY_S: Final = 10


@dataclass(frozen=True, slots=True)
class _Board:
    """What the part shows. ``queue`` is None where the visitor may not see that of all clusters."""

    open_incidents: Sequence[tuple[IncidentView, dict[str, Any] | None]]
    num_open: int
    probation: Sequence[Any]
    checks: Sequence[CheckRow]
    num_checks: int
    acts: ShownActs
    queue: dict[str, int] | None

    @property
    def tag(self) -> str:
        """An ETag that changes with everything that is shown."""
        return f'"{hashlib.sha256(repr(self).encode()).hexdigest()[:32]}"'


@router.get("", name="page_overview", dependencies=[Depends(drop_blanks("cluster"))])
def overview(request: Request, cluster: Cluster = None) -> Response:
    """The whole page."""
    shown = _collect_shown(_load_board(request, cluster), cluster)
    return page(request, "overview.html", clusters=list_cluster_names(request), **shown)


@router.get("/board", name="page_board", dependencies=[Depends(drop_blanks("cluster"))])
def board_part(request: Request, cluster: Cluster = None) -> Response:
    """The part that a page asks for again."""
    board = _load_board(request, cluster)
    return page(request, "_board.html", tag=board.tag, **_collect_shown(board, cluster))


def _collect_shown(board: _Board, cluster: str | None) -> dict[str, Any]:
    query = urlencode({"cluster": cluster} if cluster else {})
    return {"board": board, "cluster": cluster or "", "query": query, "every_s": EVERY_S}


def _load_board(request: Request, cluster: str | None) -> _Board:
    ctx, now = get_state(request).context, read_utc_now()
    with ctx.database.reading() as session:
        opened = open_incidents(session, now, cluster)
        first = revisions.list_first_suspects(session, [one.id for one in opened[:_ROWS]])
        queue = None if get_caller(request).cluster else backlog.count_by_state(session)
        acts = ctx.acting.list_shown(session, cluster)
    standings = get_kept_standings(ctx, cluster)
    checks = get_kept_open_checks(ctx, cluster)
    return _Board(
        [(one, first.get(one.id)) for one in opened[:_ROWS]],
        len(opened),
        [row.probation for row in standings.nodes if row.probation is not None][:_ROWS],
        checks[:_ROWS],
        len(checks),
        acts,
        None if queue is None else {str(state): queue.get(state, 0) for state in _QUEUED},
    )


def open_incidents(session: Session, now: datetime, cluster: str | None) -> list[IncidentView]:
    """Those that are not settled, and answered ones of today that nobody has resolved."""
    found = {
        one.id: one
        for state in (IncidentState.COLLECTING, IncidentState.ANALYSING)
        for one in incidents.list_incidents(session, cluster=cluster, state=state, limit=_MOST_READ)
    }
    # To the minute, so that the question is the same for as long.
    since = (now - _RECENT).replace(second=0, microsecond=0)
    for one in incidents.list_incidents(session, cluster=cluster, since=since, limit=_MOST_READ):
        if one.resolution is None and (one.verdict or {}).get("kind") != "healthy":
            found[one.id] = one
    return sorted(found.values(), key=lambda one: (one.created_at, one.id), reverse=True)
