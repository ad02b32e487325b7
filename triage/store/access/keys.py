"""Tokens, by the hash of what is never stored.

Who is logged in to the pages.
"""

from collections.abc import Collection
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Final, cast

from sqlalchemy import Table, bindparam, delete, select, update
from sqlalchemy.orm import Session

from models import ApiKey, PageSession
from triage.errors import NotAllowed
from triage.store.views import KeyView, make_view

# Asked by every upload; made once, of the table.
_KEYS: Final = cast("Table", ApiKey.__table__)
_TAINTED_AT: Final = select(_KEYS.c.tainted_at).where(_KEYS.c.id == bindparam("of_key"))


def add(session: Session, key: KeyView, token_hash: str) -> None:
    """One more token."""
    columns = {field.name: getattr(key, field.name) for field in fields(key)}
    session.add(ApiKey(**{**columns, "scopes": sorted(key.scopes)}, token_hash=token_hash))
    session.flush()


def find_by_hash(session: Session, token_hash: str) -> KeyView | None:
    """The token of this hash, whether it is still good or not."""
    row = session.scalar(select(ApiKey).where(ApiKey.token_hash == token_hash))
    return None if row is None else view(row)


def list_keys(session: Session) -> list[KeyView]:
    """All tokens, oldest first."""
    return [view(row) for row in session.scalars(select(ApiKey).order_by(ApiKey.created_at))]


def count_valid(session: Session, now: datetime) -> int:
    """How many tokens are good at this time."""
    return sum(
        one.revoked_at is None and (one.expires_at is None or one.expires_at > now)
        for one in list_keys(session)
    )


def revoke(session: Session, key_id: str, now: datetime) -> bool:
    """End a token; False where there is none of this id."""
    row = session.get(ApiKey, key_id)
    if row is None:
        return False
    row.revoked_at = row.revoked_at or now
    return True


def find(session: Session, key_id: str) -> KeyView | None:
    """The token of this id."""
    row = session.get(ApiKey, key_id)
    return None if row is None else view(row)


def note_used(session: Session, key_ids: Collection[str], now: datetime, every: timedelta) -> None:
    """Note that tokens were used now, where that was not noted just before."""
    recent = ApiKey.last_used_at.is_not(None) & (ApiKey.last_used_at > now - every)
    session.execute(update(ApiKey).where(ApiKey.id.in_(key_ids), ~recent).values(last_used_at=now))


def check_believed(session: Session, key_id: str | None) -> None:
    """Raise :class:`NotAllowed` for a token that was tainted while its request was under way."""
    if key_id is not None and session.scalar(_TAINTED_AT, {"of_key": key_id}) is not None:
        raise NotAllowed(
            "the token is no longer believed", hint="use another one: `triage token create`"
        )


def list_ending(session: Session, now: datetime, until: datetime) -> list[KeyView]:
    """Tokens that are good now and end before that time, the first to end first."""
    rows = session.scalars(
        select(ApiKey)
        .where(ApiKey.revoked_at.is_(None), ApiKey.expires_at > now, ApiKey.expires_at < until)
        .order_by(ApiKey.expires_at)
    )
    return [view(row) for row in rows]


def set_tainted(session: Session, key_id: str, at: datetime) -> None:
    """Note since when a token is no longer believed."""
    row = session.get_one(ApiKey, key_id)
    row.tainted_at = at


def view(row: ApiKey) -> KeyView:
    """A row as a value that outlives its session."""
    return make_view(KeyView, row, scopes=frozenset(row.scopes))


def open_session(
    session: Session, secret_hash: str, key_id: str, now: datetime, expires_at: datetime
) -> None:
    """One more; those that are over go."""
    session.execute(delete(PageSession).where(PageSession.expires_at <= now))
    session.add(
        PageSession(secret_hash=secret_hash, key_id=key_id, created_at=now, expires_at=expires_at)
    )


def find_session_key(session: Session, secret_hash: str, now: datetime) -> KeyView | None:
    """The token that it was opened with, whether that is still good or not; None when over."""
    row = session.scalar(
        select(ApiKey)
        .join(PageSession, PageSession.key_id == ApiKey.id)
        .where(PageSession.secret_hash == secret_hash, PageSession.expires_at > now)
    )
    return None if row is None else view(row)


def close_session(session: Session, secret_hash: str) -> None:
    """Logged out."""
    session.execute(delete(PageSession).where(PageSession.secret_hash == secret_hash))
