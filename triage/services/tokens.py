"""Tokens: made and shown once, kept as a hash, checked on every request.

``triage_<id>_<secret>``: the id says which row, the secret is 256 random bits. A SHA-256 of
that much randomness cannot be tried out, so no slow hash is needed.

Logging in to the pages: a token is given once, the browser keeps another secret.

The browser never holds the token. What it holds is random, hashed at rest as tokens are,
good for half a day, and void as soon as the token that opened it is revoked or expires.
"""

import hashlib
import secrets
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any, Final, TypedDict, Unpack

from triage.clock import read_utc_now
from triage.domain.caller import MAX_PATTERN, NODE_PATTERN
from triage.domain.patterns import compile_re
from triage.errors import UsageError
from triage.services.context import Context
from triage.services.hooks.job_failed import MAX_NAME, name_in
from triage.store.access import audit, keys
from triage.store.database.ids import make_id
from triage.store.views import KeyView

SCOPES: Final = ("ingest", "read", "admin")
_INGEST_DAYS: Final = 365
_ENDS_SOON: Final = timedelta(days=14)
# Somewhat less than how often a process writes it, so that each of its writes counts.
_USED_EVERY: Final = timedelta(seconds=50)
_TOKEN: Final = compile_re(r"triage_[0-9a-z]{20}_[A-Za-z0-9_-]{43}")


class Bounds(TypedDict, total=False):
    """What a token is bound to; None is anything."""

    cluster: str | None
    node_pattern: str | None
    job_id: str | None


def create_token(
    ctx: Context,
    name: str,
    scopes: Iterable[str],
    actor: str,
    expires_at: datetime | None = None,
    **bounds: Unpack[Bounds],
) -> tuple[KeyView, str]:
    """A token and its row; the token is nowhere afterwards. Raises :class:`UsageError`."""
    wanted = frozenset(scopes)
    if not wanted or not wanted <= set(SCOPES):
        raise UsageError(f"a token needs scopes out of {', '.join(SCOPES)}")
    if not name.strip() or len(name) > 256:
        raise UsageError("a token needs a name that says who uses it, at most 256 characters")
    _check_bounds(wanted, bounds)
    now = read_utc_now()
    key_id = make_id("key", now)
    token = f"triage_{key_id.removeprefix('key_')}_{secrets.token_urlsafe(32)}"
    key = KeyView(key_id, name, wanted, now, expires_at, revoked_at=None, **bounds)
    with ctx.database.writing() as session:
        keys.add(session, key, digest(token))
        detail: dict[str, Any] = {"scopes": sorted(wanted), "name": name}
        detail |= {bound: value for bound, value in bounds.items() if value is not None}
        audit.note(session, actor, "create token", key_id, now, detail)
    return key, token


def compute_end(scopes: Iterable[str], days: float | None) -> datetime | None:
    """When a new token ends: after so many days, 0 for never.

    A token that lies on every node ends within a year unless somebody decides otherwise.
    """
    if days is None:
        days = _INGEST_DAYS if "ingest" in scopes and "admin" not in scopes else 0
    return read_utc_now() + timedelta(days=days) if days else None


def _check_bounds(scopes: frozenset[str], bounds: Bounds) -> None:
    """Raises :class:`UsageError` for bounds that cannot be, or that these scopes cannot have."""
    for option, text in (("--cluster", bounds.get("cluster")), ("--job", bounds.get("job_id"))):
        if text is not None and name_in(text) is None:
            raise UsageError(f"{option} needs a name of 1 to {MAX_NAME} printable characters")
    pattern = bounds.get("node_pattern")
    if pattern is not None and not NODE_PATTERN.fullmatch(pattern):
        raise UsageError(
            "--node-pattern needs a name of a node, or a pattern of * ? and [0-9] for some,"
            f" at most {MAX_PATTERN} characters"
        )
    if "admin" in scopes and any(bounds.values()):
        raise UsageError("a token with the scope admin reaches everything: bind one without it")
    if "read" in scopes and (pattern is not None or bounds.get("job_id") is not None):
        raise UsageError(
            "--node-pattern and --job bind what a token sends: make one with --scope ingest alone"
        )


def check_token(ctx: Context, token: str) -> KeyView | None:
    """Whose token it is; None for one that is not known, revoked or expired."""
    if not _TOKEN.fullmatch(token):
        return None
    with ctx.database.reading() as session:
        found = keys.find_by_hash(session, digest(token))
    return found if found is not None and is_good(found, read_utc_now()) else None


def is_good(key: KeyView, now: datetime) -> bool:
    """Whether a token is neither revoked nor expired."""
    return key.revoked_at is None and (key.expires_at is None or key.expires_at > now)


def has_any_token(ctx: Context) -> bool:
    """Whether there is a token that is good."""
    with ctx.database.reading() as session:
        return keys.count_valid(session, read_utc_now()) > 0


def list_tokens(ctx: Context) -> list[KeyView]:
    """All tokens, oldest first."""
    with ctx.database.reading() as session:
        return keys.list_keys(session)


def note_used_tokens(ctx: Context, key_ids: Collection[str], now: datetime) -> None:
    """Note that these tokens were used."""
    with ctx.database.writing() as session:
        keys.note_used(session, key_ids, now, _USED_EVERY)


def list_ending_tokens(ctx: Context) -> list[KeyView]:
    """Tokens that are good and end within two weeks, the first to end first."""
    now = read_utc_now()
    with ctx.database.reading() as session:
        return keys.list_ending(session, now, now + _ENDS_SOON)


def revoke_token(ctx: Context, key_id: str, actor: str) -> None:
    """End a token at once. Raises :class:`UsageError` where there is none of this id."""
    now = read_utc_now()
    with ctx.database.writing() as session:
        if not keys.revoke(session, key_id, now):
            raise UsageError(f"there is no token {key_id}: see `triage token list`")
        audit.note(session, actor, "revoke token", key_id, now)


def digest(token: str) -> str:
    """What is kept of a token, or of another secret of as many random bits."""
    return hashlib.sha256(token.encode()).hexdigest()


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
