"""Mount: puts the pages into an application, with the acts on nodes that they show.

The pages know nothing of the actuator: an act is a value with the names of a row of
``GET /v1/actions``, and ``at``, when it came to stand as it does.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fastapi import FastAPI

from triage.services.context import Context
from triage.services.incidents.pictures import PictureStore
from triage.web.assets import add_sheets, asset
from triage.web.routers import (
    compare,
    evidence,
    incident,
    incidents,
    login,
    problems,
    queue,
    raw,
    search,
    upload,
)


@dataclass(frozen=True, slots=True)
class Acts:
    """Acts that wait for a person, the newest others, and why nothing is done (cluster, why)."""

    waiting: Sequence[Any]
    newest: Sequence[Any]
    halted: Sequence[tuple[str, str]]


ListActs = Callable[[Context, str | None], Acts]
"""Acts of a cluster, or of all."""
ActsOfIncident = Callable[[Context, str], Sequence[Any]]
"""Acts of an incident, the first first."""


ROUTERS: Final = tuple(
    module.router
    for module in (
        incidents,
        compare,
        incident,
        problems,
        evidence,
        raw,
        search,
        queue,
        upload,
        login,
    )
)


def add_to(
    app: FastAPI,
    sheets: Mapping[str, str],
    list_acts: ListActs,
    acts_of_incident: ActsOfIncident,
) -> None:
    """Add what the routes of pages need: style sheets (``sheets`` too), scripts, pictures.

    ``list_acts`` tells the overview what was done to nodes, ``acts_of_incident`` the incident's
    page.
    """
    app.state.pictures = PictureStore()
    app.state.list_acts = list_acts
    app.state.acts_of_incident = acts_of_incident
    add_sheets(sheets)
    app.add_api_route(
        "/static/{name}", asset, methods=["GET"], include_in_schema=False, name="page_asset"
    )
