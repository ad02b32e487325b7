"""What an incident turned out to be, said by a person: the label that accuracy is measured by."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, Name, UtcTime

__all__ = ["Resolution"]


class Resolution(Base):
    """One per incident; said again, it is replaced."""

    __tablename__ = "resolution"
    __table_args__ = (Index(None, "node"),)

    incident_id: Mapped[str] = mapped_column(
        ForeignKey("incident.id", ondelete="CASCADE"), primary_key=True
    )
    category: Mapped[str]
    node: Mapped[str | None] = mapped_column(Name)
    note: Mapped[str | None]
    said_by: Mapped[str]
    resolved_at: Mapped[datetime] = mapped_column(UtcTime)
