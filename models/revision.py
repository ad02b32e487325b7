"""One answer to an incident; a later one replaces it, none is changed."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, Json, UtcTime

__all__ = ["Revision"]


class Revision(Base):
    """``report`` is the JSON text of contract section 2; ``answer`` the whole answer, packed."""

    __tablename__ = "revision"

    incident_id: Mapped[str] = mapped_column(
        ForeignKey("incident.id", ondelete="CASCADE"), primary_key=True
    )
    revision: Mapped[int] = mapped_column(primary_key=True)
    provisional: Mapped[bool]
    report: Mapped[str]
    timeline: Mapped[list[Any]] = mapped_column(Json)
    answer: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
