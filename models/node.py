"""A node, by its scheduler name, from the first time that anything named it."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, Name, UtcTime

__all__ = ["Node"]


class Node(Base):
    """Known since a hook, an upload or a line of a log named it.

    ``generation``, ``rack``, ``batch``, ``cage``, ``slot`` and ``role`` are what an inventory said
    last; ``leaf_switch`` that, or what a job said of its nodes.
    """

    __tablename__ = "node"
    __table_args__ = (UniqueConstraint("cluster_id", "name"), Index(None, "name"))

    id: Mapped[int] = mapped_column(primary_key=True)
    cluster_id: Mapped[int] = mapped_column(ForeignKey("cluster.id"))
    name: Mapped[str] = mapped_column(Name)
    first_seen_at: Mapped[datetime] = mapped_column(UtcTime)
    last_seen_at: Mapped[datetime] = mapped_column(UtcTime)
    generation: Mapped[str | None]
    rack: Mapped[str | None]
    leaf_switch: Mapped[str | None]
    batch: Mapped[str | None]
    cage: Mapped[str | None]
    slot: Mapped[str | None]
    role: Mapped[str | None]
