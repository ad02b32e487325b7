"""A blob that no upload refers to, and since when that is known."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, UtcTime

__all__ = ["UnreferencedBlob"]


class UnreferencedBlob(Base):
    """Marked first, deleted a week later, if nothing refers to it by then.

    ``num_rounds`` rounds found it so, the last one that counted at ``seen_at``: a clock that
    jumps ahead by a year is one round, not a year of them.
    """

    __tablename__ = "unreferenced_blob"

    blob_key: Mapped[str] = mapped_column(primary_key=True)
    marked_at: Mapped[datetime] = mapped_column(UtcTime)
    seen_at: Mapped[datetime] = mapped_column(UtcTime)
    num_rounds: Mapped[int]
