"""Signatures of a team's own: uploaded, listed, removed, and tried on past incidents."""

from typing import Annotated, Final

from anyio import to_thread
from fastapi import Query, Request
from starlette.responses import Response

from triage.api.access import Scope, get_actor
from triage.api.answers.json import make_json_response, page
from triage.api.description.described import describe_text_body
from triage.api.description.shapes import make_shape
from triage.api.description.shapes import page as page_shape
from triage.api.requests.body import read_whole
from triage.api.requests.values import Since
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.errors import NotFound
from triage.sandbox.pool import Sandbox
from triage.services.context import Context
from triage.services.signatures.dry_run import MOST_INCIDENTS, DryRun, try_signatures
from triage.services.signatures.in_force import keep_file, remove_file
from triage.store import signature_files
from triage.store.signature_files import SignatureFileView

routes = Routes("/v1/signatures", "signatures", Scope.ADMIN)

_LIMIT_S: Final = 60.0
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
    "/dry-run",
    "Try own signatures on past incidents",
    {200: ("What would have changed.", DryRun)},
    body=_TOML,
    refuses=(409,),
)
async def try_file(
    request: Request,
    name: Annotated[str, Query(description="Stands for the uploaded file of this name.")] = "new",
    since: Annotated[Since | None, Query(description="Incidents from then on.")] = None,
    most: Annotated[
        int, Query(description="Newest incidents that are looked at.", ge=1, le=MOST_INCIDENTS)
    ] = 20,
) -> Response:
    """The newest incidents are read again from their stored bytes, for a minute at most, with the
    signatures in force and with this file. Nothing is changed.
    """
    ctx = get_state(request).context
    body = await _read_file(request)

    def act() -> Response:
        with _make_reader(ctx) as readers:
            run = try_signatures(
                ctx, readers, body, name=name, since=since, most=most, limit_s=_LIMIT_S
            )
        return make_json_response(run.to_dict())

    return await to_thread.run_sync(act)


async def _read_file(request: Request) -> bytes:
    from triage.signatures.own.file import MAX_BYTES

    return await read_whole(request, MAX_BYTES, "a file of signatures")


def _make_reader(ctx: Context) -> Sandbox:
    """A reader for one dry run; it starts with the first file."""
    settings = ctx.settings
    return Sandbox(settings.parse_memory_bytes, settings.reader_resident_bytes, warm=False)


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
    ctx = get_state(request).context
    body = await _read_file(request)
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
