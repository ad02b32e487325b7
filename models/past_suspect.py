"""Who was suspected of a stop whose incident was removed for its age."""

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, Name

__all__ = ["PastSuspect"]


class PastSuspect(Base):
    """As :class:`models.suspect.Suspect`, without the row of the report."""

    __tablename__ = "past_suspect"

    incident_id: Mapped[str] = mapped_column(
        ForeignKey("past_stop.incident_id", ondelete="CASCADE"), primary_key=True
    )
    position: Mapped[int] = mapped_column(primary_key=True)
    node: Mapped[str] = mapped_column(Name)
    category: Mapped[str]
    role: Mapped[str]
    score: Mapped[float]
    part: Mapped[str]
