"""Work that waits, and whether its time may be believed."""

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, BigId, UtcTime


class Work(Base):
    """Work that is owed, committed with the data it concerns; a message only wakes a worker.

    One thing to do: ``kind`` and the ``key`` of what it is done to.

    ``turn`` is its place in line; the turns of one job lie apart, so that a burst of one
    does not keep the others waiting. ``generation`` grows when it is asked for again, and
    tells the worker that does it just then that it is not over. ``tries`` counts workers that took
    it and were not heard of again; ``waits`` counts times that our surroundings (``waiting_for``)
    were not there, which is nobody's fault and never given up.
    """

    __tablename__ = "work"
    __table_args__ = (
        UniqueConstraint("kind", "key"),
        Index(None, "state", "kind", "turn", "not_before"),
        Index(None, "state", "not_before"),
        Index(None, "state", "lease_until"),
        Index(None, "state", "updated_at"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    kind: Mapped[str]
    key: Mapped[str]
    job_fk: Mapped[int | None] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"))
    turn: Mapped[int] = mapped_column(BigInteger)
    state: Mapped[str]
    generation: Mapped[int] = mapped_column(default=0)
    tries: Mapped[int] = mapped_column(default=0)
    not_before: Mapped[datetime] = mapped_column(UtcTime)
    lease_until: Mapped[datetime | None] = mapped_column(UtcTime)
    owner: Mapped[str | None]
    last_error: Mapped[str | None]
    waits: Mapped[int] = mapped_column(default=0, server_default="0")
    waiting_since: Mapped[datetime | None] = mapped_column(UtcTime)
    waiting_for: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    updated_at: Mapped[datetime] = mapped_column(UtcTime)


class ClockMark(Base):
    """When the service last saw the time go on as it should.

    One row. ``doubted_at`` is the time at which it had jumped, ``doubt`` how.
    """

    __tablename__ = "clock_mark"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    seen_at: Mapped[datetime] = mapped_column(UtcTime)
    doubted_at: Mapped[datetime | None] = mapped_column(UtcTime)
    doubt: Mapped[str | None]
