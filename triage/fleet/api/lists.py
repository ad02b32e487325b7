"""Lists of the fleet: how its nodes stand, the runs that rates rest on, and checks of nodes."""

import hashlib
from collections.abc import Sequence
from itertools import islice
from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from triage.api.access import Scope
from triage.api.answers.json import JSON, make_tagged_response, page, page_of_rows
from triage.api.answers.suspect_forms import NDJSON, choose_type, write_ndjson
from triage.api.description.described import TEXT
from triage.api.description.shapes import page as page_shape
from triage.api.requests.cursors import (
    make_time_cursor,
    make_words_cursor,
    parse_row_cursor,
    parse_time_cursor,
    parse_words_cursor,
)
from triage.api.requests.values import Cursor, Limit, Name
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.clock import read_utc_now
from triage.domain.standing import Standing
from triage.errors import Conflict
from triage.fleet.api.values import CheckState, ClusterName, EndingName, From, StandingName, Until
from triage.fleet.services.answers import determine_fleet_period
from triage.fleet.services.health.due_list import (
    CheckRow,
    Position,
    get_list_position,
    iterate_check_rows,
)
from triage.fleet.services.standings import get_listed_standings
from triage.fleet.store.record import RunView, list_runs

routes = Routes("/v1/fleet", "fleet", Scope.READ)
checks = Routes("/v1/fleet", "fleet", Scope.READ)


@routes.get(
    "/nodes",
    "How the nodes stand",
    ("The worst first.", page_shape(Standing, "nodes, the worst first")),
    forms={NDJSON: TEXT},
    refuses=(404, 406, 409),
)
def fleet_nodes(
    request: Request,
    standing: StandingName = None,
    until: Until = None,
    cluster: ClusterName = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """`golden`, `normal`, `watch`, `lemon` or `unknown`, with figures and reasons, as of `until`.

    As `application/x-ndjson` it is the whole list, without pages.
    """
    form = choose_type(", ".join(request.headers.getlist("accept")), (JSON, NDJSON))
    seen = parse_time_cursor("standings", cursor)
    end = determine_fleet_period(None, until).until if seen is None else seen[0]
    ctx = get_state(request).context
    found = get_listed_standings(ctx, end, cluster, following=seen is not None)
    rows = [one for one in found.nodes if standing is None or one.grade == standing]
    if form != JSON:
        lines = write_ndjson([one.to_dict() for one in rows])
        return make_tagged_response(request, lines, form, vary=True)
    start = 0 if seen is None else _find_list_start(rows, seen[1])
    kept = rows[start : start + limit]
    more = rows[start + limit :]
    following = make_time_cursor("standings", end, _bound_name(kept[-1])) if more else None
    return page(request, [one.to_dict() for one in kept], following)


def _bound_name(one: Standing) -> str:
    """A node in a cursor: of bounded length, whatever its name."""
    return hashlib.sha256(one.node.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _find_list_start(rows: Sequence[Standing], seen: str) -> int:
    """Where the list goes on. Raises :class:`Conflict` where the row before is gone."""
    for place, one in enumerate(rows):
        if _bound_name(one) == seen:
            return place + 1
    raise Conflict(
        "the list has changed since the page before", hint="start again without a cursor"
    )


@routes.get(
    "/runs",
    "List runs",
    ("Newest first.", page_shape(RunView, "runs, the newest first")),
    refuses=(404,),
)
def fleet_runs(
    request: Request,
    job_id: Annotated[Name | None, Query()] = None,
    ending: EndingName = None,
    since: From = None,
    until: Until = None,
    cluster: ClusterName = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """Runs that lie within the time at least in part, the newest start first; all of them where
    no time is given.
    """
    with get_state(request).context.database.reading() as session:
        rows = list_runs(
            session,
            job_id=job_id,
            cluster=cluster,
            ending=ending,
            since=since,
            until=until,
            before=parse_row_cursor("runs", cursor),
            limit=limit + 1,
        )

    def cursor_of(row: RunView) -> str:
        return make_time_cursor("runs", row.started_at, str(row.id))

    return page_of_rows(request, rows, limit, cursor_of, RunView.to_dict)


@checks.get(
    "/checks",
    "List checks of nodes",
    ("By node and check.", page_shape(CheckRow, "checks")),
    refuses=(404,),
)
def list_checks(
    request: Request,
    node: Annotated[Name | None, Query()] = None,
    state: CheckState = None,
    cluster: ClusterName = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """The newest result of each check of each part, and what is due: by its age, or because
    evidence asks for it.
    """
    words = parse_words_cursor("checks", cursor, len(Position._fields))
    after = None if words is None else Position(*words)
    with get_state(request).context.database.reading() as session:
        checks = iterate_check_rows(
            session, read_utc_now(), cluster=cluster, node=node, state=state, after=after
        )
        rows = list(islice(checks, limit + 1))
    return page_of_rows(
        request,
        rows,
        limit,
        lambda row: make_words_cursor("checks", get_list_position(row)),
        lambda row: row,
    )
