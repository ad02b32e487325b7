"""Asking: one question to a route of the service, from wherever the tools run.

A refusal of the service becomes one sentence with the next step. It is made of the status and
of names of parameters alone, since details of a refusal may hold what was sent.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import httpx2

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
Ask = Callable[[str, Query], Awaitable[JsonObject]]
"""Asks a route, with the token of one caller, for the object at a path. Raises
:class:`triage.errors.TriageError`."""


class ToolRefused(Exception):
    """A tool gives no answer; the message is one sentence of ours, with the next step."""


async def ask_application(http: httpx2.AsyncClient, path: str, query: Query) -> JsonObject:
    """Ask the application itself, by all of its layers; ``http`` carries the caller's token."""
    params = {key: value for key, value in query.items() if value is not None}
    answer = await http.get(path, params=params)
    body = parse_json_object(answer)
    if not answer.is_success or body is None:
        raise make_refusal_error(answer, body or {})
    return body


# The first class that an error is of.
_SENTENCES: Final = {
    NoToken: "The token is missing or no longer valid: set up this server with a valid one.",
    NotAllowed: "The token may not read: set up this server with one of"
    " `triage token create --scope read`.",
    NotFound: "Nothing of this name is known here, or the token does not reach it: check job_id,"
    " incident_id, node and cluster; the fleet summary and other answers name those that are"
    " known.",
    Conflict: "There is no answer yet, files still come in: ask again in half a minute.",
    TooMany: "This token asks too often: ask again in {wait_s} s.",
    Unprocessable: "The service does not take {which} as given: correct it and ask again.",
    Refusal: "The service does not answer now: ask again in {wait_s} s, then tell a person.",
    TriageError: "The service cannot be asked: check the address and the token of this server.",
}


def describe_agent_error(error: TriageError) -> str:
    """What an agent reads of an error."""
    wait_s, which = None, ""
    if isinstance(error, Refusal):
        wait_s = error.retry_after_s or (1 if isinstance(error, TooMany) else 5)
        named = sorted({place.where.rpartition("/")[2] for place in error.places})
        which = " and ".join(name for name in named if name.isidentifier() and len(name) < 32)
    sentence = next(text for kind, text in _SENTENCES.items() if isinstance(error, kind))
    return sentence.format(wait_s=wait_s, which=which or "an argument")
