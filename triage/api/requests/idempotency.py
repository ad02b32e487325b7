"""``Idempotency-Key``: a request that is sent again is carried out once.

As draft-ietf-httpapi-idempotency-key-header-07 has it: the header is a string in quotes; a
key with another request than before is 422, one whose request is still being carried out
409. A bare word is taken, too. Keys belong to the token that sent them and hold for a day.
A refusal is not kept: nothing was done, and the same key may come with what is mended.
"""

import hashlib
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy.orm import Session
from starlette.requests import Request
from starlette.responses import Response

from triage.api.access import get_actor
from triage.api.answers.json import JSON
from triage.api.state import get_state
from triage.clock import read_utc_now
from triage.domain.patterns import compile_re
from triage.errors import BadRequest, Conflict, Place, TriageError, Unprocessable
from triage.services.context import Context
from triage.store.access import idempotency

if TYPE_CHECKING:
    from models import Idempotency

_HEADER: Final = "Idempotency-Key"
_REPLAYED: Final = "Idempotency-Replayed"
_QUOTED: Final = compile_re(r'"((?:[ !#-\[\]-~]|\\["\\]){1,255})"', re.ASCII)
_BARE: Final = compile_re(r"[A-Za-z0-9._~:+/=-]{1,255}", re.ASCII)
# The longest answers are those to large groups of alerts.
_MAX_BODY: Final = 1 << 20
PARAMETER: Final[dict[str, Any]] = {
    "name": _HEADER,
    "in": "header",
    "required": False,
    "description": "Makes it safe to send the request again: within 24 hours the same key, token"
    " and body get the first answer. `draft-ietf-httpapi-idempotency-key-header-07`.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 257},
    "example": '"8e03978e-40d5-43dd-bc93-6894a57f9324"',
}


class Keeper:
    """Keeps the answer of one request, in the transaction that does what was asked.

    Without a key it keeps nothing. Raises :class:`Conflict` where another process has taken
    the request over; the transaction is then rolled back.
    """

    def __init__(self, row_id: str | None) -> None:
        self.row_id = row_id
        self.owner = secrets.token_hex(16)
        self.kept = False

    def answer(self, session: Session, response: Response) -> None:
        """Keep an answer, to be given again as it is."""
        body = bytes(response.body)
        self._finish(
            session,
            status=response.status_code,
            location=response.headers.get("location"),
            body=body if len(body) <= _MAX_BODY else None,
        )

    def made(self, session: Session, status: int, subject: str) -> None:
        """Keep only what was made: the answer holds a secret, which is to lie nowhere."""
        self._finish(session, status=status, subject=subject)

    def _finish(self, session: Session, **answer: Any) -> None:  # noqa: ANN401
        if self.row_id is None:
            return
        if not idempotency.finish(session, self.row_id, self.owner, **answer):
            raise _make_in_progress()
        self.kept = True


def answer_once(request: Request, body: bytes, act: Callable[[Keeper], Response]) -> Response:
    """What ``act`` answers, or what it answered when this request came before.

    ``act`` may keep the answer itself, with what it does; otherwise it must be safe to
    carry out twice. Raises what it raises, :class:`BadRequest` for a key that is none,
    :class:`Unprocessable` and :class:`Conflict` as said above.
    """
    key = _get_key(request)
    if key is None:
        return act(Keeper(None))
    ctx = get_state(request).context
    keeper = Keeper(_hash_parts(get_actor(request).encode(), key.encode()))
    fingerprint = _make_fingerprint(request, body)
    with ctx.database.writing() as session:
        known = idempotency.claim(
            session, keeper.row_id or "", fingerprint, keeper.owner, read_utc_now()
        )
    if known is not None:
        return _replay_answer(known, fingerprint)
    try:
        response = act(keeper)
        if not keeper.kept:
            with ctx.database.writing() as session:
                keeper.answer(session, response)
    except Exception:
        # Where even this fails, the key is free a minute later.
        with suppress(TriageError):
            release(ctx, keeper)
        raise
    return response


def release(ctx: Context, keeper: Keeper) -> None:
    """Forget a key whose request failed, so that it may come again."""
    with ctx.database.writing() as session:
        idempotency.release(session, keeper.row_id or "", keeper.owner)


def _get_key(request: Request) -> str | None:
    """The key that the sender gave, without its quotes. Raises :class:`BadRequest`."""
    given = request.headers.getlist(_HEADER)
    if not given:
        return None
    text = given[0].strip()
    if len(given) == 1 and (quoted := _QUOTED.fullmatch(text)):
        return re.sub(r"\\(.)", r"\1", quoted[1])
    if len(given) == 1 and _BARE.fullmatch(text):
        return text
    why = "is said twice" if len(given) > 1 else "is no string of 1 to 255 characters in quotes"
    raise BadRequest(
        f"{_HEADER} {why}",
        hint=f'send {_HEADER}: "..." once, with a UUID for each new request',
        places=(Place(f"header/{_HEADER}", why),),
    )


def _make_fingerprint(request: Request, body: bytes) -> str:
    """Of all that says what is asked: CloudEvents come with their attributes in headers."""
    said = sorted(
        (name, value)
        for name, value in request.headers.raw
        if name == b"content-type" or name.startswith(b"ce-")
    )
    head = [request.method.encode(), request.scope["path"].encode("utf-8", "surrogatepass")]
    return _hash_parts(*head, *(part for pair in said for part in pair), body)


def _hash_parts(*parts: bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()


def _replay_answer(known: "Idempotency", fingerprint: str) -> Response:
    if known.fingerprint != fingerprint:
        raise Unprocessable(
            f"this {_HEADER} came with another request before",
            hint="give each new request a key of its own",
            places=(Place(f"header/{_HEADER}", "belongs to another request"),),
        )
    if known.status is None:
        raise _make_in_progress()
    if known.body is None:
        raise _make_not_kept(known)
    headers = {_REPLAYED: "true"}
    if known.location is not None:
        headers["Location"] = known.location
    return Response(known.body, known.status, media_type=JSON, headers=headers)


def _make_in_progress() -> Conflict:
    return Conflict(
        f"the request of this {_HEADER} is being carried out",
        hint="send it again in a moment, with the same key",
        retry_after_s=1,
    )


def _make_not_kept(known: "Idempotency") -> Conflict:
    if known.subject is None:
        return Conflict(
            "the request was carried out; its answer is too long to be kept",
            hint="GET /v1/incidents shows what came of it",
        )
    return Conflict(
        f"the request was carried out and made {known.subject}; the answer was given then and"
        " is not kept, for it holds a secret",
        hint=f"was it lost, DELETE /v1/subscriptions/{known.subject} and subscribe again with a"
        " new key",
    )
