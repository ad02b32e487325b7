"""Asking: one question to a route of the service, from wherever the tools run.

A refusal of the service becomes one sentence with the next step. It is made of the status and
of names of parameters alone, since details of a refusal may hold what was sent.
"""

from collections.abc import Mapping
from typing import Final, Protocol

import httpx2
from anyio import to_thread

from triage.client import Client
from triage.client.transport import JsonObject, make_refusal_error, parse_json_object
from triage.errors import (
    Conflict,
    NotAllowed,
    NotFound,
    NoToken,
    Refusal,
    TooMany,
    TriageError,
    Unprocessable,
)

Query = Mapping[str, str | int | None]


class ToolRefused(Exception):
    """A tool gives no answer; the message is one sentence of ours, with the next step."""


class Asker(Protocol):
    """Asks routes with the token of one caller."""

    async def get(self, path: str, query: Query | None = None) -> JsonObject:
        """The object at ``path``. Raises :class:`triage.errors.TriageError`."""


class OverUrl:
    """Asks a service somewhere, in a thread: nothing waits for it but the question itself."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def get(self, path: str, query: Query | None = None) -> JsonObject:
        """The object at ``path``, asked for once."""
        return await to_thread.run_sync(self.client.get, path, query, abandon_on_cancel=True)


class WithinService:
    """Asks the application itself, by all of its layers; ``http`` carries the caller's token."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http

    async def get(self, path: str, query: Query | None = None) -> JsonObject:
        """The object at ``path``."""
        params = {key: value for key, value in (query or {}).items() if value is not None}
        answer = await self.http.get(path, params=params)
        body = parse_json_object(answer)
        if not answer.is_success or body is None:
            raise make_refusal_error(answer, body or {})
        return body


_NO_TOKEN: Final = "The token is missing or no longer valid: set up this server with a valid one."
_NO_SCOPE: Final = (
    "The token may not read: set up this server with one of `triage token create --scope read`."
)
_UNKNOWN: Final = (
    "Nothing of this name is known here, or the token does not reach it: check job_id,"
    " incident_id, node and cluster; the fleet summary and other answers name those that are known."
)
_NOT_YET: Final = "There is no answer yet, files still come in: ask again in half a minute."


def describe_agent_error(error: TriageError) -> str:
    """What an agent reads of an error."""
    match error:
        case NoToken():
            return _NO_TOKEN
        case NotAllowed():
            return _NO_SCOPE
        case NotFound():
            return _UNKNOWN
        case Conflict():
            return _NOT_YET
        case TooMany():
            return f"This token asks too often: ask again in {error.retry_after_s or 1} s."
        case Unprocessable():
            named = sorted({place.where.rpartition("/")[2] for place in error.places})
            known = [name for name in named if name.isidentifier() and len(name) < 32]
            which = " and ".join(known) or "an argument"
            return f"The service does not take {which} as given: correct it and ask again."
        case Refusal():
            wait_s = error.retry_after_s or 5
            return f"The service does not answer now: ask again in {wait_s} s, then tell a person."
    return "The service cannot be asked: check the address and the token of this server."
