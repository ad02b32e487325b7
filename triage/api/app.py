"""The application: tokens, problems, and what holds for every answer, whatever its routes are."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, cast

import orjson
from anyio import to_thread
from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from prometheus_client.registry import Collector
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ExceptionHandler

from triage.api.answers.problems import MethodNotAllowed, answer_refusal
from triage.api.description import openapi
from triage.api.description.openapi import describe_app
from triage.api.description.shapes import Source
from triage.api.limits.admission_gate import AdmissionGate
from triage.api.limits.token_lookup import LastUse, TokenLookup
from triage.api.metrics import Metrics
from triage.api.readiness import Readiness
from triage.api.request_middleware import Linger, RequestMiddleware
from triage.api.routes import Routes
from triage.api.state import ApiState, Watch
from triage.clock import read_utc_now
from triage.domain.states import IncidentState
from triage.errors import BadRequest, NotFound, Place, Refusal, Unprocessable
from triage.services.context import Context
from triage.services.quotas import RateLimiter
from triage.store.incidents import incidents as stored_incidents
from triage.store.work.backlog import summarize_work

# Threads that answer reads and hooks; uploads have their own.
_THREADS: Final = 16
_NOT_FOUND: Final = 404
# Routes that are removed, with what replaces them.
_REMOVED: Final = {"/fleet/test-plans": "triage fleet isolate --state FILE plans test groups"}
_NOT_ALLOWED: Final = 405


@dataclass(frozen=True, slots=True)
class Parts:
    """What an application is made of: routes, pages for people, and gauges."""

    routes: Sequence[Routes]
    pages: Sequence[APIRouter]
    gauges: Sequence[Collector] = ()

    @property
    def routers(self) -> list[APIRouter]:
        """Those of the routes, then those of the pages."""
        return [*(routes.router for routes in self.routes), *self.pages]

    @property
    def shapes(self) -> list[Source]:
        """The shapes that the routes answer with."""
        return [form for routes in self.routes for form in routes.shapes]


def build_app(ctx: Context, parts: Parts, *, open_access: bool = False) -> FastAPI:
    """The HTTP interface over a context. ``open_access`` needs no token (loopback alone).

    ``app.state.triage.watch.end()`` lets all long polls go, for a stop that is to be quick.
    """

    def settled(incident_id: str) -> bool:
        with ctx.database.reading() as session:
            incident = stored_incidents.find(session, incident_id)
        return incident is None or incident.state in {IncidentState.READY, IncidentState.FAILED}

    def read_counts() -> dict[str, Any]:
        with ctx.database.reading() as session:
            counts = summarize_work(session, read_utc_now())
            return {**counts, **ctx.acting.counts(session, ctx.settings)}

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = _THREADS
        yield
        cast("ApiState", app.state.triage).watch.end()

    app = FastAPI(
        title="nccl-triage",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        default_response_class=Response,
        lifespan=lifespan,
        generate_unique_id_function=lambda route: route.name,
    )
    metrics = Metrics(read_counts, parts.gauges)
    app.state.triage = ApiState(
        context=ctx,
        open_access=open_access,
        metrics=metrics,
        pace=RateLimiter(ctx.settings.requests_per_minute),
        token_lookup=TokenLookup(ctx),
        last_use=LastUse(ctx),
        gate=AdmissionGate(ctx.settings.max_uploads, ctx.settings.max_waiting),
        watch=Watch(settled),
        readiness=Readiness(ctx),
    )
    app.state.parts = parts
    for router in parts.routers:
        app.include_router(router)
    app.add_api_route("/openapi.json", _openapi_file, methods=["GET"], include_in_schema=False)
    openapi.add_to(app)
    app.add_exception_handler(Refusal, cast("ExceptionHandler", _answer_refusal))
    app.add_exception_handler(RequestValidationError, cast("ExceptionHandler", _answer_invalid))
    app.add_exception_handler(HTTPException, cast("ExceptionHandler", _answer_unrouted))
    app.openapi = lambda: describe_app(app, parts.shapes)  # type: ignore[method-assign]
    app.add_middleware(Linger)
    app.add_middleware(RequestMiddleware, metrics=metrics)
    return app


def _openapi_file(request: Request) -> Response:
    """The OpenAPI description."""
    return Response(orjson.dumps(request.app.openapi()), media_type="application/json")


async def _answer_refusal(request: Request, refusal: Refusal) -> Response:
    return answer_refusal(request, refusal)


async def _answer_invalid(request: Request, error: RequestValidationError) -> Response:
    places = tuple(
        Place("/".join(str(part) for part in one["loc"]), one["msg"].removeprefix("Value error, "))
        for one in error.errors()[:20]
    )
    first = places[0]
    name = first.where.rpartition("/")[2]
    return answer_refusal(
        request,
        Unprocessable(
            f"{name}: {first.message}", hint="/docs says what this route takes", places=places
        ),
    )


async def _answer_unrouted(request: Request, error: HTTPException) -> Response:
    """What the router itself refuses: no such path, or not this method."""
    if error.status_code == _NOT_ALLOWED:
        allowed = _list_methods(request)
        return answer_refusal(
            request, MethodNotAllowed(f"{request.method} is not answered here", allowed)
        )
    if error.status_code == _NOT_FOUND:
        path = request.scope["path"]
        hints = [hint for removed, hint in _REMOVED.items() if removed in path]
        hint = hints[0] if hints else "/docs lists all of them"
        return answer_refusal(request, NotFound("there is no such route", hint=hint))
    return answer_refusal(request, BadRequest(str(error.detail), hint="/docs lists all routes"))


def _list_methods(request: Request) -> tuple[str, ...]:
    found: set[str] = set()
    for route in _list_routes(request.app):
        if route.path_regex.match(request.scope["path"]):
            found |= route.methods or set()
    if "GET" in found:
        found.add("HEAD")
    return tuple(sorted(found))


def _list_routes(app: FastAPI) -> list[APIRoute]:
    routes = [route for route in app.routes if isinstance(route, APIRoute)]
    parts: Parts = app.state.parts
    for router in parts.routers:
        routes += [route for route in router.routes if isinstance(route, APIRoute)]
    return routes
