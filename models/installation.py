"""Which installation this database belongs to."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, UtcTime

__all__ = ["Installation"]


class Installation(Base):
    """One row; the blob store holds the same id. What differs is somebody else's store."""

    __tablename__ = "installation"

    id: Mapped[str] = mapped_column(primary_key=True)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
