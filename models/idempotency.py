"""A request that its sender may send again, and what it was answered; pruned after a day."""

from datetime import datetime

from sqlalchemy import Index, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, UtcTime

__all__ = ["Idempotency"]


class Idempotency(Base):
    """``id`` is the SHA-256 of token and key, ``fingerprint`` that of the request.

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
