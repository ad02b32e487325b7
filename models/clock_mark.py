"""When the service last saw the time go on as it should."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, UtcTime

__all__ = ["ClockMark"]


class ClockMark(Base):
    """One row. ``doubted_at`` is the time at which it had jumped, ``doubt`` how."""

    __tablename__ = "clock_mark"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    seen_at: Mapped[datetime] = mapped_column(UtcTime)
    doubted_at: Mapped[datetime | None] = mapped_column(UtcTime)
    doubt: Mapped[str | None]
