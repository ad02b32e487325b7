"""Under which marks this database has written to its blob store."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, UtcTime

__all__ = ["Installation"]


class Installation(Base):
    """One mark; the blob store holds the newest one. Another mark there is another database's.

    A start and each round of the clean-up makes a new one, so that a copy of this database,
    or an older state of it, does not know the mark that the store holds.
    """

    __tablename__ = "installation"

    id: Mapped[str] = mapped_column(primary_key=True)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
