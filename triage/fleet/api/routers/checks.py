"""Checks of nodes: their results come in, and what is due or failing is told."""

from functools import partial
from itertools import islice
from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from triage.api.access import Scope, get_caller
from triage.api.answers.json import make_json_response, page_of_rows
from triage.api.description.described import BINARY, describe_binary_body
from triage.api.description.shapes import page
from triage.api.requests.body import UploadBody
from triage.api.requests.cursors import make_words_cursor, parse_words_cursor
from triage.api.requests.values import Cursor, Limit, Name, Since
from triage.api.routers.uploads import get_coding, take_in_turn
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.clock import read_utc_now
from triage.fleet.api.values import BusBandwidth, CheckState, ClusterName, NodeName, OfCluster
from triage.fleet.services.health.due_list import (
    CheckRow,
    Position,
    get_list_position,
    iterate_check_rows,
)
from triage.fleet.services.health.ingest import CheckTarget, TakenChecks, take_checks
from triage.formats.health.check_format import MAX_BYTES

# As uploads are: bounded by the gate, not counted as questions.
routes = Routes("/v1/fleet", "fleet", Scope.INGEST, paced=False)
reading = Routes("/v1/fleet", "fleet", Scope.READ)


@routes.post(
    "/checks",
    "Send results of checks of nodes",
    {200: ("What was read, and what was news.", TakenChecks)},
    body=describe_binary_body(
        "What the tool printed, byte for byte. Content-Encoding gzip or zstd, .gz, .zst, .xz,"
        " .bz2 are fine.",
        BINARY,
        "text/plain",
        "application/json",
    ),
)
async def send_checks(
    request: Request,
    node: NodeName = None,
    at: Annotated[
        Since | None, Query(description="When they were taken; left out: now, as far as known.")
    ] = None,
    cluster: OfCluster = None,
    busbw_gbps: BusBandwidth = None,
) -> Response:
    """`dcgmi diag -j`, `nvidia-smi -q [-x]`, NCCL tests, `ibstat`, `perfquery`,
    `ibqueryerrors`, `sinfo -R`, `scontrol show node`, or host checks of one's own. Known by its
    content; the same results again change nothing.
    """
    state = get_state(request)
    target = CheckTarget(node, at, cluster or "", busbw_gbps, get_caller(request))
    body = UploadBody(request, MAX_BYTES)
    taken = await take_in_turn(
        state, body, partial(take_checks, state.context, target, body.read, get_coding(request))
    )
    return make_json_response(taken.to_dict(), 200)


@reading.get(
    "/checks",
    "List checks of nodes",
    ("By node and check.", page(CheckRow, "checks")),
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
