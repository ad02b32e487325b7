"""The application as it is served: incidents, the fleet, and the pages for people."""

from functools import partial
from typing import Final

from fastapi import FastAPI

from triage.actions import api as node_acts
from triage.api.app import Parts, build_app
from triage.api.routers import (
    hooks,
    incidents,
    operations,
    problems,
    search,
    subscriptions,
    uploads,
)
from triage.fleet.api import answers, intake, lists
from triage.fleet.api.metrics import FleetGauges
from triage.fleet.render.sentences import FLEET_CSS
from triage.fleet.services.gauges import read_gauges
from triage.fleet.web import fleet as fleet_pages
from triage.fleet.web import overview as overview_pages
from triage.server import agents
from triage.services.context import Context
from triage.services.notifications.subscribe import make_callback_guard
from triage.web import mount

_ROUTES: Final = (
    operations.auditing,
    hooks.routes, intake.ending, uploads.routes, uploads.asking, incidents.routes,
    incidents.erasing, problems.routes,
    search.node_routes,
    search.routes,
    subscriptions.routes, operations.routes,
    intake.importing, answers.routes, lists.routes,
    intake.checking, lists.checks, intake.measuring, node_acts.launching,
    node_acts.reading, node_acts.asking,
)  # fmt: skip
PAGES: Final = (
    *mount.ROUTERS, overview_pages.router, fleet_pages.node_router, fleet_pages.router,
    agents.router,
)  # fmt: skip


def create_app(ctx: Context, *, open_access: bool = False) -> FastAPI:
    """The whole HTTP interface over a context; see :func:`triage.api.app.build_app`.

    Raises :class:`UsageError` for a setting that cannot be.
    """
    make_callback_guard(ctx.settings)
    gauges = [FleetGauges(partial(read_gauges, ctx))]
    app = build_app(ctx, Parts(_ROUTES, PAGES, gauges), open_access=open_access)
    mount.add_to(app, {"fleet.css": FLEET_CSS})
    return app
