"""Checks of nodes: their results come in, and what is due or failing is told."""

from functools import partial
from itertools import islice
from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from triage.api.access import Scope, caller_of
from triage.api.answers.json import as_json, page_of_rows
from triage.api.description.described import BINARY, binary_body
from triage.api.description.shapes import page
from triage.api.requests.body import UploadBody
from triage.api.requests.cursors import after_words, words_cursor
from triage.api.requests.values import Cursor, Limit, Name, Since
from triage.api.routers.uploads import coding, within
from triage.api.routes import Routes
from triage.api.state import state_of
from triage.clock import utc_now
from triage.fleet.api.values import BusBandwidth, CheckState, ClusterName, NodeName, OfCluster
from triage.fleet.services.health.due_list import CheckRow, Position, checks_from, position_of
from triage.fleet.services.health.ingest import CheckTarget, TakenChecks, take_checks
from triage.formats.health.check_format import MAX_BYTES

# As uploads are: bounded by the gate, not counted as questions.
routes = Routes("/v1/fleet", "fleet", Scope.INGEST, paced=False)
reading = Routes("/v1/fleet", "fleet", Scope.READ)


@routes.post(
    "/checks",
    "Send results of checks of nodes",
    {200: ("What was read, and what was news.", TakenChecks)},
    body=binary_body(
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
    state = state_of(request)
    target = CheckTarget(node, at, cluster or "", busbw_gbps, caller_of(request))
    body = UploadBody(request, MAX_BYTES)
    taken = await within(
        state, body, partial(take_checks, state.context, target, body.read, coding(request))
    )
    return as_json(taken.to_dict(), 200)


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
    words = after_words("checks", cursor, len(Position._fields))
    after = None if words is None else Position(*words)
    with state_of(request).context.database.reading() as session:
        checks = checks_from(
            session, utc_now(), cluster=cluster, node=node, state=state, after=after
        )
        rows = list(islice(checks, limit + 1))
    return page_of_rows(
        request, rows, limit, lambda row: words_cursor("checks", position_of(row)), lambda row: row
    )
