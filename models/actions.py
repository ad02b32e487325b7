"""Acts on nodes."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, Json, Name, UtcTime


class Action(Base):
    """What the actuator was asked to do to nodes, and what became of it.

    One act on one node for one incident; it is never repeated for the same incident.

    ``before`` is the node as it was found, which undoing goes back to; ``after`` as it was left.
    ``undoes`` is the act that this one takes back. ``owner`` is the process that carries it out.
    """

    __tablename__ = "action"
    __table_args__ = (
        UniqueConstraint("cluster_id", "incident_id", "node", "verb"),
        Index(None, "state", "created_at"),
        Index(None, "cluster_id", "node"),
        Index(None, "cluster_id", "acted_at"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    cluster_id: Mapped[int] = mapped_column(ForeignKey("cluster.id"))
    incident_id: Mapped[str]
    node: Mapped[str] = mapped_column(Name)
    verb: Mapped[str]
    system: Mapped[str]
    state: Mapped[str]
    category: Mapped[str]
    confidence: Mapped[float]
    revision: Mapped[int]
    why: Mapped[str]
    asked_by: Mapped[str]
    decided_by: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    expires_at: Mapped[datetime | None] = mapped_column(UtcTime)
    decided_at: Mapped[datetime | None] = mapped_column(UtcTime)
    acted_at: Mapped[datetime | None] = mapped_column(UtcTime)
    ended_at: Mapped[datetime | None] = mapped_column(UtcTime)
    undoes: Mapped[str | None]
    owner: Mapped[str | None]
    error: Mapped[str | None]
    before: Mapped[dict[str, Any] | None] = mapped_column(Json)
    after: Mapped[dict[str, Any] | None] = mapped_column(Json)
