"""One answer to an incident; a later one replaces it, none is changed."""

from datetime import datetime

from sqlalchemy import ForeignKey, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, UtcTime

__all__ = ["Revision"]


class Revision(Base):
    """``answer`` is the whole answer, packed by :mod:`triage.domain.answer_wire`.

    It is the one stored form: the report, the time line and the pictures are derived from it
    when they are asked for. What lists, filters and statistics read of the newest answer stands
    in columns of ``incident`` and ``suspect`` beside it, written in the same transaction.
    """

    __tablename__ = "revision"

    incident_id: Mapped[str] = mapped_column(
        ForeignKey("incident.id", ondelete="CASCADE"), primary_key=True
    )
    revision: Mapped[int] = mapped_column(primary_key=True)
    provisional: Mapped[bool]
    answer: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
