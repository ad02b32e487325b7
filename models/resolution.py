"""What an incident turned out to be, said by a person: the label that accuracy is measured by."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, CleanText, UtcTime

__all__ = ["Resolution"]


class Resolution(Base):
    """One per incident; said again, it is replaced."""

    __tablename__ = "resolution"
    __table_args__ = (Index(None, "node"),)

    incident_id: Mapped[str] = mapped_column(
        ForeignKey("incident.id", ondelete="CASCADE"), primary_key=True
    )
    category: Mapped[str]
    node: Mapped[str | None] = mapped_column(CleanText)
    note: Mapped[str | None] = mapped_column(CleanText)
    said_by: Mapped[str] = mapped_column(CleanText)
    resolved_at: Mapped[datetime] = mapped_column(UtcTime)
