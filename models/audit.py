"""Who changed what: tokens, subscriptions, resolutions, resends, removals."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, BigId, Json, Name, UtcTime

__all__ = ["Audit"]


class Audit(Base):
    """One act; ``actor`` is the id of a token, or ``local``."""

    __tablename__ = "audit"
    __table_args__ = (Index(None, "at"), Index(None, "subject"))

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    at: Mapped[datetime] = mapped_column(UtcTime)
    actor: Mapped[str]
    action: Mapped[str]
    subject: Mapped[str] = mapped_column(Name)
    detail: Mapped[dict[str, Any]] = mapped_column(Json)
