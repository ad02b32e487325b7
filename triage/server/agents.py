"""Agents: the Model Context Protocol over HTTP, at ``/mcp``.

Each message is a request that stands alone. What a tool asks goes through this application
once more, with the caller's own token: scopes, clusters, rates and the log of requests are those
of the routes that it asks. The protocol's package comes with the first message; a service that
no agent asks never loads it.

A few texts may come with a question. They are read as all foreign bytes are, by a child that can
be killed, and forgotten. It ends with the answer: such questions are rare.
"""

import tempfile
import threading
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from triage.api.access import Scope, admit_scope, get_actor
from triage.api.requests.body import read_whole
from triage.api.state import get_state
from triage.domain.answer_wire import answer_from_bytes
from triage.errors import BadRequest, TooMany, Unavailable, Unprocessable, Unsupported
from triage.sandbox.errors import ReaderDied, ReaderFailed, ReaderNotStarted, ReaderTooSlow
from triage.sandbox.pool import FileToRead, Sandbox
from triage.services.context import Context
from triage.web.access import check_origin

if TYPE_CHECKING:
    from triage.agents.answers import Answer
    from triage.agents.shapes import OfFiles

_DEADLINE_S: Final = 60.0
# One child of this kind in each process that answers.
_ONE: Final = threading.Lock()


def analyse_given(ctx: Context, files: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The report on (name, text) of each file; nothing of it is kept.

    Raises :class:`TooMany` while another one is made, :class:`Unprocessable` for texts that
    cannot be read, :class:`Unavailable` where the reader does not come up.
    """
    if not _ONE.acquire(blocking=False):
        raise TooMany("other files are being analysed", hint="ask again soon", retry_after_s=5)
    try:
        with tempfile.TemporaryDirectory(prefix="triage-given-") as folder:
            return _read_in(ctx, Path(folder), files)
    except ReaderNotStarted as error:
        raise Unavailable("no reader starts", hint="ask again soon", retry_after_s=30) from error
    except (ReaderDied, ReaderFailed, ReaderTooSlow) as error:
        raise Unprocessable("these texts cannot be read", hint="send fewer of them") from error
    finally:
        _ONE.release()


def _read_in(ctx: Context, folder: Path, files: Sequence[tuple[str, str]]) -> dict[str, Any]:
    listed = []
    for number, (name, text) in enumerate(files):
        path = folder / str(number)
        data = text.encode("utf-8", "replace")
        path.write_bytes(data)
        listed.append(FileToRead(path, name, len(data)))
    with Sandbox(ctx.settings.parse_memory_bytes, warm=False) as reader:
        read = reader.extract(listed, deadline_s=_DEADLINE_S)
        analysis = reader.analyse((one.packed for one in read), deadline_s=_DEADLINE_S)
    return answer_from_bytes(analysis.answer).to_dict()


# 256 KiB of texts, as JSON may write them, and what is around them.
_MOST_BYTES: Final = 1 << 20
# Rates count where the routes are asked: a refusal there reaches the agent as a sentence.
_ADMITTED: Final = Depends(admit_scope(Scope.READ, paced=False))

router = APIRouter(tags=["agents"])


@router.post("/mcp", include_in_schema=False, dependencies=[_ADMITTED])
async def message(request: Request) -> Response:
    """One message of the protocol, which describes itself to its clients."""
    check_origin(request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Unsupported("a message is JSON", hint="send Content-Type: application/json")
    body = await read_whole(request, _MOST_BYTES)
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest("the message is no JSON", hint="send one JSON-RPC message") from error
    # In a thread: importing takes half a second, which no other request has to wait.
    await to_thread.run_sync(import_module, "triage.agents.server")

    import httpx2

    from triage.agents.questions import ask_application
    from triage.agents.server import OneMessage

    http = httpx2.AsyncClient(
        transport=httpx2.ASGITransport(request.app, client=_get_client_address(request)),
        base_url="http://127.0.0.1",
        headers=_select_passed_headers(request),
        timeout=None,
    )
    return OneMessage(body, partial(ask_application, http), partial(_analyse, request))


def _get_client_address(request: Request) -> tuple[str, int]:
    """Where the caller is: wrong tokens count by it."""
    return ("", 0) if request.client is None else (request.client.host, request.client.port)


def _select_passed_headers(request: Request) -> dict[str, str]:
    """The headers that say who asks, and under which number it stands in the log."""
    token = request.headers.get("authorization")
    who = {} if token is None else {"authorization": token}
    return {**who, "x-request-id": request.scope["triage.request_id"]}


async def _analyse(request: Request, asked: "OfFiles") -> "Answer":
    """The answer on texts that came with the question."""
    from triage.agents.answers import Quotes
    from triage.agents.questions import ToolRefused, answer_of_report
    from triage.agents.shapes import MAX_TEXT_BYTES

    state = get_state(request)
    state.pace.take(get_actor(request))
    files = list(asked.files.items())
    if sum(len(text.encode("utf-8", "replace")) for _, text in files) > MAX_TEXT_BYTES:
        raise ToolRefused("The texts are longer than 256 KiB together: send the telling parts.")
    report: dict[str, Any] = await to_thread.run_sync(analyse_given, state.context, files)
    return answer_of_report(report, Quotes())
