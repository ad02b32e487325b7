"""Logging in to the pages: a token is given once, the browser keeps another secret.

The browser never holds the token. What it holds is random, hashed at rest as tokens are,
good for half a day, and void as soon as the token that opened it is revoked or expires.
"""

import secrets
from datetime import timedelta
from typing import Final

from triage.clock import read_utc_now
from triage.services.context import Context
from triage.services.tokens import check_token, digest, is_good
from triage.store.access import audit, keys
from triage.store.views import KeyView

LIFE: Final = timedelta(hours=12)
# Of a secret as ``token_urlsafe`` writes 32 bytes.
_SECRET_CHARS: Final = 43


def log_in(ctx: Context, token: str) -> str | None:
    """The secret of a new session; None for a token that is not known or no longer good."""
    key = check_token(ctx, token)
    if key is None:
        return None
    secret = secrets.token_urlsafe(32)
    now = read_utc_now()
    with ctx.database.writing() as session:
        keys.open_session(session, digest(secret), key.id, now, now + LIFE)
        audit.note(session, key.id, "log in", key.id, now)
    return secret


def find_session_key(ctx: Context, secret: str) -> KeyView | None:
    """The token that a session was opened with; None for one that is over."""
    if len(secret) != _SECRET_CHARS or not secret.isascii():
        return None
    now = read_utc_now()
    with ctx.database.reading() as session:
        key = keys.find_session_key(session, digest(secret), now)
    return key if key is not None and is_good(key, now) else None


def log_out(ctx: Context, secret: str) -> None:
    """End the session, also for those who have a copy of its secret."""
    with ctx.database.writing() as session:
        keys.close_session(session, digest(secret))
