"""A training job of a scheduler; it may fail more than once."""

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, Name, UtcTime

__all__ = ["Job"]


class Job(Base):
    """``job_id`` is the scheduler's text; ``last_turn`` is where its latest work stands in line."""

    __tablename__ = "job"
    __table_args__ = (UniqueConstraint("cluster_id", "job_id"), Index(None, "job_id"))

    id: Mapped[int] = mapped_column(primary_key=True)
    cluster_id: Mapped[int] = mapped_column(ForeignKey("cluster.id"))
    job_id: Mapped[str] = mapped_column(Name)
    last_turn: Mapped[int] = mapped_column(BigInteger, default=0)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
