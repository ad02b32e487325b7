"""Visitors of pages, and whether a form was sent from one of our own.

Three ways in: everybody under ``--open`` (on loopback alone), a bearer token, or the cookie
of a login. A browser sends the cookie by itself, so a form that changes something must also
carry a CSRF token that only a page of that session knows, and come from our own origin.
"""

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import urlsplit

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from triage.api.access import EVERYBODY, Scope, admit_caller, check_local, check_token, get_actor
from triage.api.state import get_state
from triage.domain.caller import Caller
from triage.errors import NotAllowed, NoToken
from triage.services.tokens import LIFE, find_session_key

_COOKIE: Final = "triage_session"
# A browser takes a cookie of this prefix over TLS alone, and from no other host of the domain.
_COOKIE_OF_TLS: Final = f"__Host-{_COOKIE}"
# The field of a form that holds the CSRF token.
CSRF_FIELD: Final = "word"
# With --open there is no session; the CSRF token is then one of this process.
_OPEN_CSRF_TOKEN: Final = secrets.token_urlsafe(32)
_OWN_SITE: Final = frozenset({"same-origin", "none"})
_TLS: Final = "https"


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who asks for a page.

    ``csrf_token`` goes into forms. ``how`` is ``open``, ``token`` or ``cookie``.
    """

    caller: Caller
    csrf_token: str
    how: str

    def may(self, scope: str) -> bool:
        """Whether the visitor's token has this scope, or ``admin``."""
        return bool({scope, Scope.ADMIN} & self.caller.scopes)


def admit(*scopes: Scope) -> Callable[[Request], Awaitable[None]]:
    """A dependency that admits visitors who have one of these scopes.

    Raises :class:`NoToken` where nobody is logged in, :class:`NotAllowed` and
    :class:`TooMany`.
    """

    async def check(request: Request) -> None:
        visitor = await identify(request, scopes[0])
        if not any(visitor.may(scope) for scope in scopes):
            raise NotAllowed(
                f"this page needs a token with the scope {' or '.join(scopes)}",
                hint="log out, and log in with one made by `triage token create --scope admin`",
            )
        request.scope["triage.visitor"] = visitor
        admit_caller(request, visitor.caller)
        get_state(request).pace.take(get_actor(request))

    return check


def get_visitor(request: Request) -> Visitor | None:
    """The visitor that :func:`admit` let through; None on pages that are open to all."""
    return cast("Visitor | None", request.scope.get("triage.visitor"))


async def identify(request: Request, scope: Scope) -> Visitor:
    """The visitor behind a request. Raises what :func:`triage.api.access.check_token` raises."""
    state = get_state(request)
    if state.open_access:
        check_local(request)
        return Visitor(EVERYBODY, _OPEN_CSRF_TOKEN, "open")
    if "authorization" in request.headers:
        return Visitor(await check_token(request, scope), "", "token")
    secret = get_secret(request)
    key = None
    if secret is not None:
        key = await to_thread.run_sync(find_session_key, state.context, secret)
    if secret is None or key is None:
        raise NoToken("nobody is logged in", hint="log in with a token")
    # The secret cannot be worked out from the CSRF token of its session.
    csrf = hashlib.sha256(b"triage form\0" + secret.encode("utf-8", "replace")).hexdigest()
    return Visitor(key.caller(), csrf, "cookie")


def get_secret(request: Request) -> str | None:
    """The secret of the session, from the browser's cookie."""
    return request.cookies.get(_choose_cookie_name(request))


def check_csrf(request: Request, token: str | None) -> None:
    """Raises :class:`NotAllowed` for a form that no page of this session has sent."""
    check_origin(request)
    visitor = get_visitor(request)
    if visitor is None or visitor.how == "token":
        return  # a browser does not send an Authorization header by itself
    given = (token or "").encode("utf-8", "replace")
    if not hmac.compare_digest(given, visitor.csrf_token.encode()):
        raise NotAllowed(
            "this form is not of your present session", hint="open the page again, then send it"
        )


def check_origin(request: Request) -> None:
    """Raises :class:`NotAllowed` for what a page of another origin makes a browser send."""
    if request.headers.get("sec-fetch-site", "same-origin") not in _OWN_SITE:
        raise NotAllowed("forms are taken from our own pages alone", hint="open the page itself")
    origin = request.headers.get("origin")
    if origin is None:
        return
    own = {request.headers.get("host", "")}
    public = urlsplit(get_state(request).context.settings.public_url).netloc
    if public:
        own.add(public)
    try:
        netloc = urlsplit(origin).netloc
    except ValueError:
        netloc = ""
    if netloc not in own:
        raise NotAllowed(
            "forms are taken from our own pages alone",
            hint="behind a proxy: pass the Host header on, or set TRIAGE_PUBLIC_URL",
        )


def set_cookie(request: Request, response: Response, secret: str) -> None:
    """Hand the session's secret to the browser: no script reads it, no other site sends it."""
    max_age = int(LIFE.total_seconds())
    response.set_cookie(value=secret, max_age=max_age, **_describe_cookie(request))


def forget_cookie(request: Request, response: Response) -> None:
    """Let the browser drop the session's cookie."""
    response.delete_cookie(**_describe_cookie(request))


def _describe_cookie(request: Request) -> dict[str, Any]:
    name, secure = _choose_cookie_name(request), _is_over_tls(request)
    return {"key": name, "path": "/", "httponly": True, "samesite": "strict", "secure": secure}


def _choose_cookie_name(request: Request) -> str:
    return _COOKIE_OF_TLS if _is_over_tls(request) else _COOKIE


def _is_over_tls(request: Request) -> bool:
    public = get_state(request).context.settings.public_url
    return request.url.scheme == _TLS or public.startswith("https://")
