"""The pages become part of an application."""

from collections.abc import Mapping
from typing import Final

from fastapi import FastAPI

from triage.services.incidents.pictures import PictureStore
from triage.web.assets import add_sheets, asset
from triage.web.routers import evidence, incident, incidents, login, queue, raw, upload

__all__ = ["ROUTERS", "add_to"]

ROUTERS: Final = (
    incidents.router, incident.router, evidence.router, raw.router, queue.router, upload.router,
    login.router,
)  # fmt: skip


def add_to(app: FastAPI, sheets: Mapping[str, str]) -> None:
    """What all pages need beside their routes: style sheets (``sheets`` too), scripts, pictures."""
    app.state.pictures = PictureStore()
    add_sheets(sheets)
    app.add_api_route(
        "/static/{name}", asset, methods=["GET"], include_in_schema=False, name="page_asset"
    )
