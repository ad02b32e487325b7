"""What was said of an incident's job, by whom."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, BigId, Json, UtcTime

__all__ = ["IncidentFacts"]


class IncidentFacts(Base):
    """One job.json object as it came. ``source`` is what brought it (``hook``, ``job_json``, ...),
    ``state`` whether it counts: ``used``, ``conflict`` (it contradicts a settled incident) or
    ``tainted`` (its key is no longer believed).
    """

    __tablename__ = "incident_facts"
    __table_args__ = (Index(None, "incident_id", "id"), Index(None, "key_id"))

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    incident_id: Mapped[str] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"))
    source: Mapped[str]
    key_id: Mapped[str | None]
    at: Mapped[datetime] = mapped_column(UtcTime)
    state: Mapped[str]
    facts: Mapped[dict[str, Any]] = mapped_column(Json)
