"""The suspects of the newest answer of each incident."""

from typing import Any

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, Json, Name

__all__ = ["Suspect"]


class Suspect(Base):
    """``row`` is the suspect as the report prints it; it repeats a part of the newest answer, as
    the other columns do: ``/suspects``, repeats and the fleet's record read many incidents at
    once, and none of their answers.

    ``part`` is what its reasons name first, empty where they name none; None where nobody has
    looked: reading it out of the reasons of a year takes longer than all other questions.
    """

    __tablename__ = "suspect"
    __table_args__ = (
        Index(None, "node", "incident_id"),
        Index(None, "role", "node", "incident_id"),
    )

    incident_id: Mapped[str] = mapped_column(
        ForeignKey("incident.id", ondelete="CASCADE"), primary_key=True
    )
    position: Mapped[int] = mapped_column(primary_key=True)
    node: Mapped[str | None] = mapped_column(Name)
    category: Mapped[str]
    role: Mapped[str]
    score: Mapped[float]
    row: Mapped[dict[str, Any]] = mapped_column(Json)
    part: Mapped[str | None]
