"""Checks of nodes."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, BigId, Json, Name, UtcTime


class HealthCheck(Base):
    """The newest result of each check of each part of a node, and what it was before.

    ``part`` is empty for the node as a whole, so that the key holds.

    ``outcome``, ``at``, ``detail`` and ``category`` are those of the newest result; ``history``
    holds the newest ones, latest first. ``at`` is when it ran or, where nobody said, came.
    """

    __tablename__ = "health_check"
    __table_args__ = (
        UniqueConstraint("cluster_id", "node", "check", "part"),
        Index(None, "node"),
        Index(None, "outcome"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    cluster_id: Mapped[int] = mapped_column(ForeignKey("cluster.id"))
    node: Mapped[str] = mapped_column(Name)
    check: Mapped[str] = mapped_column(Name)
    part: Mapped[str] = mapped_column(Name)
    outcome: Mapped[str]
    at: Mapped[datetime] = mapped_column(UtcTime)
    detail: Mapped[str]
    category: Mapped[str | None]
    history: Mapped[list[Any]] = mapped_column(Json)
    key_id: Mapped[str | None]
