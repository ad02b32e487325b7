"""Tokens, by the hash of what is never stored."""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import ApiKey
from triage.store.views import KeyView

__all__ = ["add", "by_hash", "listing", "num_valid", "revoke", "view"]


def add(
    session: Session,
    key_id: str,
    name: str,
    token_hash: str,
    scopes: Iterable[str],
    expires_at: datetime | None,
    now: datetime,
) -> KeyView:
    """One more token."""
    row = ApiKey(
        id=key_id, name=name, token_hash=token_hash, scopes=sorted(scopes), created_at=now,
        expires_at=expires_at,
    )  # fmt: skip
    session.add(row)
    session.flush()
    return view(row)


def by_hash(session: Session, token_hash: str) -> KeyView | None:
    """The token of this hash, whether it is still good or not."""
    row = session.scalar(select(ApiKey).where(ApiKey.token_hash == token_hash))
    return None if row is None else view(row)


def listing(session: Session) -> list[KeyView]:
    """All tokens, oldest first."""
    return [view(row) for row in session.scalars(select(ApiKey).order_by(ApiKey.created_at))]


def num_valid(session: Session, now: datetime) -> int:
    """How many tokens are good at this time."""
    return sum(
        one.revoked_at is None and (one.expires_at is None or one.expires_at > now)
        for one in listing(session)
    )


def revoke(session: Session, key_id: str, now: datetime) -> bool:
    """End a token; False where there is none of this id."""
    row = session.get(ApiKey, key_id)
    if row is None:
        return False
    row.revoked_at = row.revoked_at or now
    return True


def view(row: ApiKey) -> KeyView:
    """A row as a value that outlives its session."""
    return KeyView(
        row.id, row.name, frozenset(row.scopes), row.created_at, row.expires_at, row.revoked_at
    )
