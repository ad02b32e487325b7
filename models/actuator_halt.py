"""When and why the actuator of a cluster stopped itself, or was stopped by a person."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, BigId, UtcTime

__all__ = ["ActuatorHalt"]


class ActuatorHalt(Base):
    """Nothing is done to nodes of the cluster while ``ended_at`` is None."""

    __tablename__ = "actuator_halt"
    __table_args__ = (Index(None, "cluster_id", "ended_at"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    cluster_id: Mapped[int] = mapped_column(ForeignKey("cluster.id"))
    at: Mapped[datetime] = mapped_column(UtcTime)
    by: Mapped[str]
    reason: Mapped[str]
    action_id: Mapped[str | None]
    ended_at: Mapped[datetime | None] = mapped_column(UtcTime)
    ended_by: Mapped[str | None]
