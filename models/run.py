"""One attempt of a job on one set of nodes, from its start to its end: what was at risk."""

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, BigId, Name, UtcTime

__all__ = ["Run"]


class Run(Base):
    """``started_at`` is to the second: schedulers and hooks that tell of one run differ below it.

    ``ended_at`` is None while nobody has told the end; then ``seen_at`` is when it was last
    said to run, and it counts until then. Its incidents are those of the job within its time.
    """

    __tablename__ = "run"
    __table_args__ = (
        UniqueConstraint("cluster_id", "job_id", "started_at"),
        Index(None, "started_at"),
        Index(None, "node_set_id"),
        Index(None, "key_id"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    cluster_id: Mapped[int] = mapped_column(ForeignKey("cluster.id"))
    job_id: Mapped[str] = mapped_column(Name)
    started_at: Mapped[datetime] = mapped_column(UtcTime)
    ended_at: Mapped[datetime | None] = mapped_column(UtcTime)
    seen_at: Mapped[datetime] = mapped_column(UtcTime)
    ending: Mapped[str]
    cause: Mapped[str | None]
    num_nodes: Mapped[int] = mapped_column(BigInteger)
    num_gpus: Mapped[int] = mapped_column(BigInteger)
    node_set_id: Mapped[int | None] = mapped_column(BigId, ForeignKey("node_set.id"))
    source: Mapped[str]
    key_id: Mapped[str | None]
