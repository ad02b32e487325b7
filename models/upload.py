"""One request that brought bytes: one blob, which holds its artifacts one behind the other."""

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, UtcTime

__all__ = ["Upload"]


class Upload(Base):
    """``blob_key`` is None once the bytes were pruned; ``key_id`` is the token that brought it."""

    __tablename__ = "upload"
    __table_args__ = (
        Index(None, "incident_id"),
        Index(None, "created_at"),
        Index(None, "key_id"),
        Index(None, "blob_key"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    incident_id: Mapped[str] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"))
    blob_key: Mapped[str | None]
    stored_bytes: Mapped[int] = mapped_column(BigInteger)
    key_id: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(UtcTime)
