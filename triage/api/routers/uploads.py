"""Uploads: one file, or a bundle of one node, as the raw body of a request.

Files that would decide, asked of the node that has them: all that an ingest token may read.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, TypeVar
from urllib.parse import quote

from anyio import CapacityLimiter, to_thread
from fastapi import Query, Request
from starlette.responses import Response

from triage.api.access import Scope, get_caller
from triage.api.answers.json import make_json_response
from triage.api.description.described import BINARY, describe_binary_body
from triage.api.description.shapes import make_shape, select_keys
from triage.api.requests.body import UploadBody
from triage.api.requests.values import (
    FileKind,
    FileName,
    IncidentRef,
    Name,
    PathName,
    Rank,
    check_id,
    name_in_path,
)
from triage.api.routes import Routes
from triage.api.state import ApiState, get_state
from triage.domain.report import WantedFile
from triage.errors import Place, TooLarge, Unprocessable
from triage.services.incidents.wanted import compute_retry_s, find_wanted_of_node
from triage.services.uploads.ingest import IngestedBundle, take_artifact, take_bundle
from triage.services.uploads.received import Target
from triage.store.views import ArtifactView

asking = Routes("/v1/jobs", "uploads", Scope.INGEST)

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


@asking.get(
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


# Uploads are bounded by the gate, and are not counted as questions.
routes = Routes("/v1/jobs", "uploads", Scope.INGEST, paced=False)

T = TypeVar("T")
ARTIFACT = make_shape("Artifact", ArtifactView, doc="One uploaded file and what became of it.")
_Incident = Annotated[
    IncidentRef | None,
    Query(description="Of the job-failed answer; left out: the job's newest, or a new one."),
]

_Attempt = Annotated[
    Name | None, Query(description="Which start of a job that is requeued under its id.")
]
_Cluster = Annotated[
    Name | None, Query(description="Of the job; left out: the token's, else none.")
]


@routes.post(
    "/{job_id}/artifacts",
    "Send one file",
    {201: ("Kept.", ARTIFACT), 200: ("The same file was there.", ARTIFACT)},
    body=describe_binary_body(
        "The file, byte for byte. Content-Encoding gzip or zstd, .gz, .zst, .xz and .bz2 are fine.",
        BINARY,
    ),
    refuses=(404, 409, 410),
)
async def upload_artifact(
    request: Request,
    job_id: PathName,
    node: Annotated[Name | None, Query()] = None,
    rank: Annotated[Rank | None, Query()] = None,
    kind: Annotated[FileKind | None, Query()] = None,
    filename: Annotated[FileName | None, Query()] = None,
    incident: _Incident = None,
    cluster: _Cluster = None,
    attempt: _Attempt = None,
) -> Response:
    """A flight-recorder dump, a kernel log or a job log. Known by its content, kept once."""
    state = get_state(request)
    target = Target(
        job_id=name_in_path("job_id", job_id),
        node=node,
        rank=rank,
        kind=kind,
        filename=filename,
        incident=_check_incident_id(incident),
        cluster=cluster,
        attempt=attempt,
        caller=get_caller(request),
    )
    settings = state.context.settings
    body = UploadBody(request, max(settings.max_artifact_bytes, settings.max_dump_bytes))
    taken = await take_in_turn(
        state, body, partial(take_artifact, state.context, target, body.read, get_coding(request))
    )
    view = taken.artifact
    state.metrics.artifacts.labels(view.kind, "new" if taken.new else "known").inc()
    for what, number in view.redacted.items() if taken.new else ():
        state.metrics.redactions.labels(what).inc(number)
    location = f"/v1/incidents/{quote(view.incident_id)}/artifacts"
    return make_json_response(view.to_dict(), 201 if taken.new else 200, {"Location": location})


@routes.post(
    "/{job_id}/bundle",
    "Send a tar of files",
    {201: ("What became of each file.", IngestedBundle), 200: ("Nothing new.", IngestedBundle)},
    body=describe_binary_body(
        "A tar of files of one node, or of an incident folder; .gz, .zst, .xz and .bz2 are fine.",
        "application/x-tar",
        BINARY,
    ),
    refuses=(404, 409, 410),
)
async def upload_bundle(
    request: Request,
    job_id: PathName,
    node: Annotated[Name | None, Query()] = None,
    incident: _Incident = None,
    cluster: _Cluster = None,
    attempt: _Attempt = None,
) -> Response:
    """One bad file refuses only itself; links, devices and `..` refuse the whole."""
    state = get_state(request)
    target = Target(
        job_id=name_in_path("job_id", job_id),
        node=node,
        incident=_check_incident_id(incident),
        cluster=cluster,
        attempt=attempt,
        caller=get_caller(request),
    )
    body = UploadBody(request, state.context.settings.max_bundle_bytes)
    taken = await take_in_turn(
        state, body, partial(take_bundle, state.context, target, body.read, get_coding(request))
    )
    for member in taken.members:
        result = {201: "new", 200: "known"}.get(member.status, "refused")
        state.metrics.artifacts.labels("bundled", result).inc()
    location = f"/v1/incidents/{quote(taken.incident_id)}/artifacts"
    return make_json_response(taken.to_dict(), 201 if taken.new else 200, {"Location": location})


async def take_in_turn(state: ApiState, body: UploadBody, take: Callable[[], T]) -> T:
    """Take an upload in, in a thread of its own, when it is its turn."""
    result = "refused"
    try:
        async with state.gate.turn(body.sender) as turn:
            await body.begin(turn)
            # One thread for each place inside the gate, none of the threads that answer reads.
            taken = await to_thread.run_sync(take, limiter=CapacityLimiter(1))
        result = "taken"
    except (TooLarge, Unprocessable) as refusal:
        # What the readers of bytes refuse is in the body; they do not know of requests.
        refusal.places = refusal.places or (Place("body", refusal.detail),)
        raise
    finally:
        state.metrics.upload_bytes.labels(result).inc(body.num_bytes)
    return taken


def get_coding(request: Request) -> str | None:
    """All Content-Encoding headers of a request as one, None without any."""
    return ", ".join(request.headers.getlist("content-encoding")) or None


def _check_incident_id(incident: str | None) -> str | None:
    if incident is None:
        return None
    return check_id(incident, "incident", "take the upload_url of the job-failed answer as it is")
