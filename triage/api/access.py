"""Who may do what: the bearer token of a request and its scopes.

``admin`` includes everything; ``read`` and ``ingest`` exclude each other, so that the token
which lies on every node reads nothing. A token in the query string is none: it would stand
in logs and histories.
"""

import re
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Final, cast
from urllib.parse import urlsplit

from starlette.requests import Request

from triage.api.state import get_state
from triage.domain.caller import Caller
from triage.domain.patterns import compile_re
from triage.errors import NotAllowed, NoToken

_TOKEN: Final = compile_re(r"bearer +([A-Za-z0-9._~+/=-]{1,512})", re.IGNORECASE | re.ASCII)
_LOOPBACK: Final = compile_re(r"localhost|127(?:\.\d{1,3}){3}|::1", re.ASCII)


class Scope(StrEnum):
    """What a route asks of a token."""

    READ = "read"
    INGEST = "ingest"
    ADMIN = "admin"


# Whoever asks under ``--open``.
EVERYBODY: Final = Caller("local", frozenset(Scope))


def admit_scope(scope: Scope, *, paced: bool = True) -> Callable[[Request], Awaitable[None]]:
    """A dependency that lets a request through whose token reaches so far.

    Raises :class:`NoToken`, :class:`NotAllowed`, and, for routes that are ``paced``,
    :class:`TooMany`.
    """

    async def check(request: Request) -> None:
        state = get_state(request)
        if state.open_access:
            check_local(request)
            caller = EVERYBODY
        else:
            caller = await check_token(request, scope)
        admit_caller(request, caller)
        if paced:
            state.pace.take(get_actor(request))

    return check


def admit_caller(request: Request, caller: Caller) -> None:
    """Note whose request it is, for what it brings and for the record of who did what."""
    request.scope["triage.caller"] = caller
    request.scope["triage.key_id"] = caller.key_id
    if caller.key_id is not None and caller is not EVERYBODY:
        get_state(request).last_use.note(caller.key_id)


def get_caller(request: Request) -> Caller:
    """Whose request it is that was admitted."""
    return cast("Caller", request.scope["triage.caller"])


def get_actor(request: Request) -> str:
    """The id of the token of an admitted request, for the record of who did what."""
    return cast("str", request.scope["triage.key_id"])


async def check_token(request: Request, scope: Scope) -> Caller:
    """Who asks, by the request's token.

    Raises :class:`NoToken` without a valid one, :class:`NotAllowed` where its scopes do not reach.
    """
    headers = request.headers.getlist("authorization")
    if not headers:
        raise NoToken(
            "no token was sent",
            hint="send `Authorization: Bearer TOKEN`; `triage token create` makes one",
        )
    match = _TOKEN.fullmatch(headers[0].strip()) if len(headers) == 1 else None
    key = None
    if match is not None:
        key = await get_state(request).token_lookup.key_of(request, match[1])
    if key is None:
        raise NoToken(
            "the token is not known, or no longer valid",
            hint="`triage token list` names those that are; `triage token create` makes one",
        )
    if not {scope, Scope.ADMIN} & key.scopes:
        has = " and ".join(sorted(key.scopes)) or "nothing"
        raise NotAllowed(
            f"this needs the scope {scope}; the token has {has}",
            hint=f"use a token made by `triage token create --scope {scope}`",
        )
    return key.caller()


def check_local(request: Request) -> None:
    """Without tokens, a page in somebody's browser must not be able to ask.

    The name under which we are asked has to be a loopback one (a foreign name may point
    here), and a page has to be one of ours.
    """
    name, host = _name_and_place(f"//{request.headers.get('host', '')}")
    if not _LOOPBACK.fullmatch(name):
        raise NotAllowed(
            "without tokens the service answers under a loopback name alone",
            hint="ask http://127.0.0.1:PORT, or run `triage serve` without --open",
        )
    origin = request.headers.get("origin")
    if origin is not None and _name_and_place(origin)[1] != host:
        raise NotAllowed(
            "without tokens the service answers no pages of other origins",
            hint="run `triage serve` without --open and use a token",
        )


def _name_and_place(address: str) -> tuple[str, str]:
    """Name, and name with port, of an address; empty texts for what is none."""
    try:
        parts = urlsplit(address)
        return parts.hostname or "", parts.netloc
    except ValueError:
        return "", ""
