"""Who may do what, and who did."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, BigId, Json, Name, UtcTime


class ApiKey(Base):
    """A token, of which only the hash is kept.

    ``token_hash`` is the SHA-256 of the whole token, in hex.

    ``cluster``, ``node_pattern`` and ``job_id`` are what it is bound to; None is anything. What
    a key brought since it was made is set apart once ``tainted_at`` is set.
    """

    __tablename__ = "api_key"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    token_hash: Mapped[str] = mapped_column(unique=True)
    scopes: Mapped[list[Any]] = mapped_column(Json)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    expires_at: Mapped[datetime | None] = mapped_column(UtcTime)
    revoked_at: Mapped[datetime | None] = mapped_column(UtcTime)
    cluster: Mapped[str | None] = mapped_column(Name)
    node_pattern: Mapped[str | None]
    job_id: Mapped[str | None] = mapped_column(Name)
    last_used_at: Mapped[datetime | None] = mapped_column(UtcTime)
    tainted_at: Mapped[datetime | None] = mapped_column(UtcTime)


class PageSession(Base):
    """A person who is logged in to the pages; only the hash of what the browser holds is kept.

    ``secret_hash`` is the SHA-256 of the cookie's value, in hex. It ends with its token.
    """

    __tablename__ = "page_session"
    __table_args__ = (Index(None, "key_id"), Index(None, "expires_at"))

    secret_hash: Mapped[str] = mapped_column(primary_key=True)
    key_id: Mapped[str] = mapped_column(ForeignKey("api_key.id", ondelete="CASCADE"))
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    expires_at: Mapped[datetime] = mapped_column(UtcTime)


class Audit(Base):
    """Who changed what: tokens, subscriptions, resolutions, resends, removals.

    One act; ``actor`` is the id of a token, or ``local``.
    """

    __tablename__ = "audit"
    __table_args__ = (Index(None, "at"), Index(None, "subject"))

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    at: Mapped[datetime] = mapped_column(UtcTime)
    actor: Mapped[str]
    action: Mapped[str]
    subject: Mapped[str] = mapped_column(Name)
    detail: Mapped[dict[str, Any]] = mapped_column(Json)


class Idempotency(Base):
    """A request that its sender may send again, and what it was answered; pruned after a day.

    ``id`` is the SHA-256 of token and key, ``fingerprint`` that of the request.

    ``owner`` is who carries it out, and ``status`` None until that is done. ``body`` is None
    where the answer held a secret; ``subject`` then says what the request made.
    """

    __tablename__ = "idempotency"
    __table_args__ = (Index(None, "created_at"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    fingerprint: Mapped[str]
    owner: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    taken_at: Mapped[datetime] = mapped_column(UtcTime)
    status: Mapped[int | None]
    location: Mapped[str | None]
    body: Mapped[bytes | None] = mapped_column(LargeBinary)
    subject: Mapped[str | None]
