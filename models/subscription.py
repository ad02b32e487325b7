"""Who wants to be told."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, Json, UtcTime

__all__ = ["Subscription"]


class Subscription(Base):
    """``incident_id`` is set for the ``callback_url`` of one incident.

    ``failing_since`` is when its receiver stopped answering; before ``not_before`` it asked
    not to be called.
    """

    __tablename__ = "subscription"
    __table_args__ = (Index(None, "incident_id"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    url: Mapped[str]
    routing_key: Mapped[str | None]
    secrets: Mapped[list[Any]] = mapped_column(Json)
    events: Mapped[list[Any]] = mapped_column(Json)
    key_id: Mapped[str | None]
    incident_id: Mapped[str | None] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"))
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    disabled_at: Mapped[datetime | None] = mapped_column(UtcTime)
    disabled_why: Mapped[str | None]
    failing_since: Mapped[datetime | None] = mapped_column(UtcTime)
    not_before: Mapped[datetime | None] = mapped_column(UtcTime)
