"""Receivers, and the messages to them."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, Json, UtcTime


class Subscription(Base):
    """Who wants to be told.

    ``incident_id`` is set for the ``callback_url`` of one incident.

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


class Delivery(Base):
    """One message to one receiver; its bytes are made once and stay the same on every try.

    ``id`` is the ``webhook-id``: made of incident, revision, event and subscription.

    A message about the whole fleet is of no incident: ``incident_id`` is None, ``revision`` 0.
    """

    __tablename__ = "delivery"
    __table_args__ = (
        Index(None, "subscription_id", "created_at"),
        Index(None, "state", "next_at"),
        Index(None, "incident_id"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    subscription_id: Mapped[str] = mapped_column(ForeignKey("subscription.id", ondelete="CASCADE"))
    incident_id: Mapped[str | None] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"))
    revision: Mapped[int]
    event: Mapped[str]
    method: Mapped[str]
    url: Mapped[str]
    headers: Mapped[dict[str, Any]] = mapped_column(Json)
    body: Mapped[bytes] = mapped_column(LargeBinary)
    state: Mapped[str]
    attempts: Mapped[int] = mapped_column(default=0)
    next_at: Mapped[datetime | None] = mapped_column(UtcTime)
    last_status: Mapped[int | None]
    last_error: Mapped[str | None]
    latency_ms: Mapped[int | None]
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    tried_at: Mapped[datetime | None] = mapped_column(UtcTime)
    delivered_at: Mapped[datetime | None] = mapped_column(UtcTime)
