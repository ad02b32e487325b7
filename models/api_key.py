"""A token, of which only the hash is kept."""

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, Json, Name, UtcTime

__all__ = ["ApiKey"]


class ApiKey(Base):
    """``token_hash`` is the SHA-256 of the whole token, in hex.

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
