"""Who looks at a page, and whether a form was sent from one of ours.

Three ways in: everybody under ``--open`` (on loopback alone), a bearer token, or the cookie
of a login. A browser sends the cookie by itself, so a form that changes something must also
carry a word that only a page of that session knows, and come from our own origin.
"""

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, cast
from urllib.parse import urlsplit

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from triage.api.access import LOCAL, Scope, check_local, checked
from triage.api.state import state_of
from triage.errors import NotAllowed, NoToken
from triage.services.sessions import LIFE, who_is
from triage.services.tokens import SCOPES

__all__ = [
    "Visitor", "admit", "check_origin", "check_word", "forget_cookie", "secret_of", "set_cookie",
    "visitor_of", "who_asks",
]  # fmt: skip

COOKIE: Final = "triage_session"
# With --open there is no session; the word then is one of this process.
OPEN_WORD: Final = secrets.token_urlsafe(32)
OWN_SITE: Final = frozenset({"same-origin", "none"})
TLS: Final = "https"


@dataclass(frozen=True, slots=True)
class Visitor:
    """``key_id`` is for the record of who did what; ``word`` goes into forms.

    ``how`` is ``open``, ``token`` or ``cookie``.
    """

    key_id: str
    scopes: frozenset[str]
    word: str
    how: str

    def may(self, scope: str) -> bool:
        """Whether the visitor's token reaches so far."""
        return bool({scope, Scope.ADMIN} & self.scopes)


def admit(*scopes: Scope) -> Callable[[Request], Awaitable[None]]:
    """A dependency that lets those through who have one of these scopes.

    Raises :class:`NoToken` where nobody is logged in, :class:`NotAllowed` and
    :class:`TooMany`.
    """

    async def check(request: Request) -> None:
        found = await who_asks(request, scopes[0])
        if not any(found.may(scope) for scope in scopes):
            raise NotAllowed(
                f"this page needs a token with the scope {' or '.join(scopes)}",
                hint="log out, and log in with one made by `triage token create --scope admin`",
            )
        request.scope["triage.visitor"] = found
        request.scope["triage.key_id"] = found.key_id
        state_of(request).pace.take(found.key_id)

    return check


def visitor_of(request: Request) -> Visitor | None:
    """Who was admitted; None on pages that are open to all."""
    return cast("Visitor | None", request.scope.get("triage.visitor"))


async def who_asks(request: Request, scope: Scope) -> Visitor:
    """The visitor behind a request. Raises what :func:`triage.api.access.checked` raises."""
    state = state_of(request)
    if state.open_access:
        check_local(request)
        return Visitor(LOCAL, frozenset(SCOPES), OPEN_WORD, "open")
    if "authorization" in request.headers:
        key_id = await checked(request, scope)
        return Visitor(key_id, frozenset({scope}), "", "token")
    secret = secret_of(request)
    key = None
    if secret is not None:
        key = await to_thread.run_sync(who_is, state.context, secret)
    if secret is None or key is None:
        raise NoToken("nobody is logged in", hint="log in with a token")
    return Visitor(key.id, key.scopes, word_of(secret), "cookie")


def secret_of(request: Request) -> str | None:
    """What the browser holds of its session."""
    return request.cookies.get(COOKIE)


def word_of(secret: str) -> str:
    """The word for forms of a session; it does not tell the secret."""
    return hashlib.sha256(b"triage form\0" + secret.encode("utf-8", "replace")).hexdigest()


def check_word(request: Request, word: str | None) -> None:
    """Raises :class:`NotAllowed` for a form that no page of this session has sent."""
    check_origin(request)
    found = visitor_of(request)
    if found is None or found.how == "token":
        return  # a browser does not send an Authorization header by itself
    if not hmac.compare_digest((word or "").encode("utf-8", "replace"), found.word.encode()):
        raise NotAllowed(
            "this form is not of your present session", hint="open the page again, then send it"
        )


def check_origin(request: Request) -> None:
    """Raises :class:`NotAllowed` for what a page of another origin makes a browser send."""
    if request.headers.get("sec-fetch-site", "same-origin") not in OWN_SITE:
        raise NotAllowed("forms are taken from our own pages alone", hint="open the page itself")
    origin = request.headers.get("origin")
    if origin is None:
        return
    own = {request.headers.get("host", "")}
    public = urlsplit(state_of(request).context.settings.public_url).netloc
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
    """Scripts cannot read it, and no other site makes a browser send it."""
    response.set_cookie(
        COOKIE, secret, max_age=int(LIFE.total_seconds()), path="/", httponly=True,
        samesite="strict", secure=over_tls(request),
    )  # fmt: skip


def forget_cookie(request: Request, response: Response) -> None:
    """The browser drops it."""
    response.delete_cookie(
        COOKIE, path="/", httponly=True, samesite="strict", secure=over_tls(request)
    )


def over_tls(request: Request) -> bool:
    public = state_of(request).context.settings.public_url
    return request.url.scheme == TLS or public.startswith("https://")
