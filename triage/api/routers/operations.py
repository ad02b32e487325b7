"""Operations: whether the process lives, whether it can work, what it counts. Open to all.

A setting closes what it counts to all but those who scrape it. And acts: who changed what.
"""

import hmac
from typing import Annotated, Literal

from fastapi import Query, Request
from starlette.responses import Response

from triage.api.access import Scope
from triage.api.answers.json import make_json_response
from triage.api.description.described import TEXT
from triage.api.description.shapes import make_shape, page
from triage.api.readiness import Part
from triage.api.requests.cursors import Paged, parse_row_cursor
from triage.api.requests.values import Name, Since
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.errors import NoToken
from triage.store.access import audit
from triage.store.access.audit import AuditView

routes = Routes("", "operations", None)

_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
_HEALTH = make_shape("Health", doc="The process answers.", status=Literal["ok"])
_READY = make_shape(
    "Ready",
    doc="Whether the service can do its work.",
    status=Literal["ok", "fail"],
    parts=list[Part],
)


@routes.get("/healthz", "Whether the process answers", ("It does.", _HEALTH))
async def healthz() -> Response:
    """Asks nothing else: a database that is away is no reason to restart this process."""
    return make_json_response({"status": "ok"})


@routes.get(
    "/readyz",
    "Whether the service can do its work",
    ("It can; broker and worker may still warn.", _READY),
    or_else={503: ("It cannot; the part that fails says why.", _READY)},
)
async def readyz(request: Request) -> Response:
    """Database and blob store decide; broker and worker are named and never fatal."""
    parts = await get_state(request).readiness.parts()
    fails = any(part.fatal and part.state == "fail" for part in parts)
    body = {"status": "fail" if fails else "ok", "parts": [part.to_dict() for part in parts]}
    return make_json_response(body, 503 if fails else 200)


@routes.get(
    "/metrics",
    "Figures for Prometheus",
    ("Prometheus' text form.", None),
    forms={"text/plain": TEXT},
    refuses=(401,),
)
def metrics(request: Request) -> Response:
    """Counters of this process, and the rows of the database by state.

    Where ``TRIAGE_METRICS_TOKEN`` is set it has to be sent as a bearer token.
    """
    _check_scraper(request)
    return Response(get_state(request).metrics.text(), media_type=_PROMETHEUS)


def _check_scraper(request: Request) -> None:
    """Raises :class:`NoToken` where a token for ``/metrics`` is set and this is not it."""
    wanted = get_state(request).context.settings.metrics_token
    sent = request.headers.get("authorization", "").encode("utf-8", "replace")
    if wanted and not hmac.compare_digest(sent, f"Bearer {wanted}".encode()):
        raise NoToken(
            "these figures need the token of the setting TRIAGE_METRICS_TOKEN",
            hint="in Prometheus: `authorization: {credentials_file: FILE}` of the scrape",
        )


auditing = Routes("/v1/audit", "audit", Scope.ADMIN)

_ACT = make_shape("Act", AuditView)


@auditing.get("", "List acts", ("Newest first.", page(_ACT, "acts")))
def list_acts(
    request: Request,
    paging: Paged,
    actor: Annotated[Name | None, Query(description="Id of a token, or `local`.")] = None,
    action: Annotated[Name | None, Query(description="Such as `taint token`.")] = None,
    subject: Annotated[Name | None, Query(description="Id of what it was done to.")] = None,
    since: Annotated[Since | None, Query(description="Done then or later.")] = None,
) -> Response:
    """What changed answers or settings, and by which token: incidents opened, hooks, imports,
    tokens, receivers, callbacks, deletions, logins. Files carry their token themselves.
    """
    with get_state(request).context.database.reading() as session:
        rows = audit.list_acts(
            session,
            paging.num_rows,
            before=parse_row_cursor("audit", paging.cursor),
            actor=actor,
            action=action,
            subject=subject,
            since=since,
        )
    return paging.answer("audit", rows, "at")
