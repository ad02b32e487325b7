"""A plan that says which nodes to test together, with the results so far."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, Json, UtcTime

__all__ = ["TestPlan"]


class TestPlan(Base):
    """``body`` holds the settings, the rounds and their results; ``version`` grows with each
    change, so that two who enter results at once do not undo each other. ``incident_id`` is the
    incident that left the suspects, None for a plan of nodes that somebody listed.
    """

    __tablename__ = "test_plan"
    __table_args__ = (Index(None, "cluster_id", "created_at"), Index(None, "incident_id"))

    id: Mapped[str] = mapped_column(primary_key=True)
    cluster_id: Mapped[int] = mapped_column(ForeignKey("cluster.id"))
    incident_id: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    updated_at: Mapped[datetime] = mapped_column(UtcTime)
    version: Mapped[int]
    key_id: Mapped[str | None]
    body: Mapped[dict[str, Any]] = mapped_column(Json)
