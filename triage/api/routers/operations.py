"""Operations: whether the process lives, whether it can work, what it counts. Open to all."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from triage.api.answers.json import as_json
from triage.api.description.described import TEXT, answers, reference
from triage.api.description.schemas import Health, Ready
from triage.api.state import state_of

__all__ = ["router"]

router = APIRouter(tags=["operations"])

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


@router.get(
    "/healthz",
    summary="Whether the process answers",
    responses=answers(ok={200: ("It does.", Health)}),
)
async def healthz() -> Response:
    """Asks nothing else: a database that is away is no reason to restart this process."""
    return as_json({"status": "ok"})


@router.get(
    "/readyz",
    summary="Whether the service can do its work",
    responses={
        **answers(ok={200: ("It can; broker and worker may still warn.", Ready)}),
        503: {
            "description": "It cannot; the part that fails says why.",
            "content": {"application/json": reference("Ready")},
        },
    },
)
async def readyz(request: Request) -> Response:
    """Database and blob store decide; broker and worker are named and never fatal."""
    parts = await state_of(request).readiness.parts()
    fails = any(part.fatal and part.state == "fail" for part in parts)
    body = {
        "status": "fail" if fails else "ok",
        "parts": [
            {"name": part.name, "state": part.state, "detail": part.detail} for part in parts
        ],
    }
    return as_json(body, 503 if fails else 200)


@router.get(
    "/metrics",
    summary="Figures for Prometheus",
    responses=answers(
        ok={200: ("Prometheus' text form.", None)},
        forms={"text/plain": TEXT},
    ),
)
def metrics(request: Request) -> Response:
    """Counters of this process, and the rows of the database by state."""
    return Response(state_of(request).metrics.text(), media_type=PROMETHEUS)
