"""A person who is logged in to the pages; only the hash of what the browser holds is kept."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, UtcTime

__all__ = ["PageSession"]


class PageSession(Base):
    """``secret_hash`` is the SHA-256 of the cookie's value, in hex. It ends with its token."""

    __tablename__ = "page_session"
    __table_args__ = (Index(None, "key_id"), Index(None, "expires_at"))

    secret_hash: Mapped[str] = mapped_column(primary_key=True)
    key_id: Mapped[str] = mapped_column(ForeignKey("api_key.id", ondelete="CASCADE"))
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    expires_at: Mapped[datetime] = mapped_column(UtcTime)
