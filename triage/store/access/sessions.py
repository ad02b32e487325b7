"""Who is logged in to the pages."""

from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from models import ApiKey, PageSession
from triage.store.access.keys import view
from triage.store.views import KeyView


def add(
    session: Session, secret_hash: str, key_id: str, now: datetime, expires_at: datetime
) -> None:
    """One more; those that are over go."""
    session.execute(delete(PageSession).where(PageSession.expires_at <= now))
    session.add(
        PageSession(secret_hash=secret_hash, key_id=key_id, created_at=now, expires_at=expires_at)
    )


def find_key(session: Session, secret_hash: str, now: datetime) -> KeyView | None:
    """The token that it was opened with, whether that is still good or not; None when over."""
    row = session.scalar(
        select(ApiKey)
        .join(PageSession, PageSession.key_id == ApiKey.id)
        .where(PageSession.secret_hash == secret_hash, PageSession.expires_at > now)
    )
    return None if row is None else view(row)


def remove(session: Session, secret_hash: str) -> None:
    """Logged out."""
    session.execute(delete(PageSession).where(PageSession.secret_hash == secret_hash))
