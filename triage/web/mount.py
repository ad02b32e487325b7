"""The pages become part of an application."""

from typing import Final

from fastapi import FastAPI

from triage.services.incidents.pictures import PictureStore
from triage.web.assets import asset
from triage.web.routers import (
    evidence,
    fleet,
    incident,
    incidents,
    login,
    nodes,
    queue,
    raw,
    upload,
)

__all__ = ["ROUTERS", "add_to"]

ROUTERS: Final = (
    incidents.router, incident.router, evidence.router, raw.router, nodes.router, queue.router,
    upload.router, login.router, fleet.router,
)  # fmt: skip


def add_to(app: FastAPI) -> None:
    """The routes of all pages, and their style sheets and scripts."""
    app.state.pictures = PictureStore()
    for router in ROUTERS:
        app.include_router(router)
    app.add_api_route(
        "/static/{name}", asset, methods=["GET"], include_in_schema=False, name="page_asset"
    )
