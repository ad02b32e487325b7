"""Signatures of a team's own: uploaded, listed, removed."""

from anyio import to_thread
from fastapi import Request
from starlette.responses import Response

from triage.api.access import Scope, get_actor
from triage.api.answers.json import make_json_response, page
from triage.api.description.described import describe_text_body
from triage.api.description.shapes import make_shape
from triage.api.description.shapes import page as page_shape
from triage.api.requests.body import read_whole
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.errors import NotFound
from triage.services.signatures.in_force import keep_file, remove_file
from triage.store import signature_files
from triage.store.signature_files import SignatureFileView

routes = Routes("/v1/signatures", "signatures", Scope.ADMIN)

_FILE = make_shape("SignatureFile", SignatureFileView, doc="A file of own signatures.")
_FILE_WITH_BODY = make_shape(
    "SignatureFileBody", _FILE, doc="A file of own signatures with its TOML.", body=str
)
_TOML = describe_text_body("A TOML file of own signatures.", "application/toml", "text/plain")


@routes.get("", "List files of own signatures", ("By name.", page_shape(_FILE, "files")))
def list_files(request: Request) -> Response:
    """Those that were uploaded; the files of the service's settings are not among them."""
    with get_state(request).context.database.reading() as session:
        rows = signature_files.list_files(session)
    return page(request, [row.to_dict() for row in rows], None)


@routes.post(
    "/{name}",
    "Upload own signatures",
    {200: ("The file as it is kept.", _FILE)},
    body=_TOML,
)
async def add_file(request: Request, name: str) -> Response:
    """It replaces the file of that name, and is checked whole: every fault is told with its line.
    What is uploaded from now on is read with it.
    """
    from triage.signatures.own.file import MAX_BYTES

    ctx = get_state(request).context
    body = await read_whole(request, MAX_BYTES, "a file of signatures")
    actor = get_actor(request)
    found = await to_thread.run_sync(keep_file, ctx, name, body, actor)
    return make_json_response(found.to_dict())


@routes.get("/{name}", "A file of own signatures", ("The file.", _FILE_WITH_BODY), refuses=(404,))
def one_file(request: Request, name: str) -> Response:
    """With its TOML as it was uploaded."""
    with get_state(request).context.database.reading() as session:
        found = signature_files.find(session, name)
    if found is None:
        raise NotFound("there is no such file", hint="GET /v1/signatures lists them")
    return make_json_response({**found[0].to_dict(), "body": found[1]})


@routes.delete("/{name}", "Remove own signatures", "Gone.", refuses=(404, 507))
def remove(request: Request, name: str) -> Response:
    """What is uploaded from now on is read without them."""
    remove_file(get_state(request).context, name, get_actor(request))
    return Response(status_code=204)
