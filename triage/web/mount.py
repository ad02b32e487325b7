"""Mount: puts the pages into an application."""

from collections.abc import Mapping
from typing import Final

from fastapi import FastAPI

from triage.web.assets import add_sheets, asset
from triage.web.routers import evidence, incident, lists, login, queue, upload

ROUTERS: Final = tuple(
    module.router for module in (lists, incident, evidence, queue, upload, login)
)


def add_to(app: FastAPI, sheets: Mapping[str, str]) -> None:
    """Add what the routes of pages need: style sheets (``sheets`` too), scripts."""
    add_sheets(sheets)
    app.add_api_route(
        "/static/{name}", asset, methods=["GET"], include_in_schema=False, name="page_asset"
    )
