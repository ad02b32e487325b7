"""How much a token brought on one day."""

from sqlalchemy import BigInteger
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base

__all__ = ["KeyUsage"]


class KeyUsage(Base):
    """``day`` counts from 1970-01-01 in UTC."""

    __tablename__ = "key_usage"

    key_id: Mapped[str] = mapped_column(primary_key=True)
    day: Mapped[int] = mapped_column(primary_key=True)
    num_bytes: Mapped[int] = mapped_column(BigInteger)
    num_files: Mapped[int] = mapped_column(BigInteger)
    num_incidents: Mapped[int] = mapped_column(BigInteger)
