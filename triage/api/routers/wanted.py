"""Files that would decide, asked of the node that has them: all that an ingest token may read."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from triage.api.access import Scope, get_caller
from triage.api.answers.json import make_json_response
from triage.api.description.shapes import make_shape, select_keys
from triage.api.requests.paths import name_in_path
from triage.api.requests.values import IncidentRef, Name, PathName, check_id
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.domain.report import WantedFile
from triage.services.incidents.wanted import compute_retry_s, find_wanted_of_node

routes = Routes("/v1/jobs", "uploads", Scope.INGEST)

# Not why: who sends files learns no verdict.
_TOLD = ("kind", "rank", "filename")
_WANTED_OF_NODE = make_shape(
    "WantedOfNode",
    doc="The files that would decide, of one node.",
    incident_id=str,
    wanted=list[select_keys("FileOfNode", "A file to be sent whole.", WantedFile, _TOLD)],  # type: ignore[misc]
    again_s=Annotated[
        float | None, "Ask again after so many seconds; null: no more will be wanted."
    ],
)


@routes.get(
    "/{job_id}/wanted",
    "What is wanted of a node",
    ("Files to be sent whole, and when to ask again.", _WANTED_OF_NODE),
    refuses=(404,),
)
def wanted_of(
    request: Request,
    job_id: PathName,
    incident: Annotated[IncidentRef, Query(description="Of the answer to the upload.")],
    node: Annotated[Name | None, Query(description="Left out: that of the token.")] = None,
) -> Response:
    """Dumps of which only the digest is here, and files that are missing. A `filename` is that of
    the digest, without it any dump of the rank is meant. Nothing is asked for again once it came.
    """
    known = check_id(incident, "incident", "take it from the answer to the upload")
    job = name_in_path("job_id", job_id)
    with get_state(request).context.database.reading() as session:
        found = find_wanted_of_node(session, get_caller(request), job, known, node)
    files = [{key: one.to_dict()[key] for key in _TOLD} for one in found.wanted]
    return make_json_response(
        {"incident_id": known, "wanted": files, "again_s": compute_retry_s(found)}
    )
