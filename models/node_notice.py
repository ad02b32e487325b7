"""What a monitoring system said of a node, kept for the incidents that open later."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, LargeBinary, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, BigId, Json, Name, UtcTime

__all__ = ["NodeNotice"]


class NodeNotice(Base):
    """A health event, or an alert; ``cluster_id`` is that of the token, or of none.

    ``at`` is its own time, else when it came. ``created_at`` is when it came first, ``seen_at``
    when it came last: an alert that goes on is sent again. ``body`` is the file that incidents
    get, without secrets, and ``redacted`` says which those were; ``sha256`` is of it. ``summary``
    is one line for a person.
    """

    __tablename__ = "node_notice"
    __table_args__ = (
        UniqueConstraint("cluster_id", "node", "sha256"),
        Index(None, "cluster_id", "node", "at"),
        Index(None, "seen_at"),
        Index(None, "key_id", "id"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    cluster_id: Mapped[int] = mapped_column(ForeignKey("cluster.id"))
    node: Mapped[str] = mapped_column(Name)
    source: Mapped[str]
    kind: Mapped[str]
    sha256: Mapped[str]
    at: Mapped[datetime] = mapped_column(UtcTime)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    seen_at: Mapped[datetime] = mapped_column(UtcTime)
    key_id: Mapped[str | None]
    summary: Mapped[str]
    redacted: Mapped[dict[str, Any]] = mapped_column(Json)
    body: Mapped[bytes] = mapped_column(LargeBinary)
