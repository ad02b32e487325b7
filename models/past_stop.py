"""What stays of an incident that was removed for its age: that a job stopped, when, and of what."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, Name, UtcTime

__all__ = ["PastStop"]


class PastStop(Base):
    """Some hundred bytes, kept for good: a year's causes are asked for when its files are gone.

    ``incident_id`` is that of the incident that was; ``key`` and ``created_at`` are its own,
    ``kind`` and ``category`` those of its last verdict.
    """

    __tablename__ = "past_stop"
    __table_args__ = (Index(None, "cluster_id", "created_at"),)

    incident_id: Mapped[str] = mapped_column(primary_key=True)
    cluster_id: Mapped[int] = mapped_column(ForeignKey("cluster.id"))
    job_id: Mapped[str] = mapped_column(Name)
    key: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    kind: Mapped[str]
    category: Mapped[str | None]
