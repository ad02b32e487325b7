"""A node out of service: drained, down, in repair."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, BigId, UtcTime

__all__ = ["Outage"]


class Outage(Base):
    """``from_at`` is to the second; ``to_at`` is None while it lasts, as far as anybody said.

    ``cause`` and ``action`` are values of ``triage.fleet.domain``; None in rows of a release that
    did not ask for them.
    """

    __tablename__ = "outage"
    __table_args__ = (UniqueConstraint("node_id", "from_at"), Index(None, "from_at"))

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    node_id: Mapped[int] = mapped_column(ForeignKey("node.id"))
    from_at: Mapped[datetime] = mapped_column(UtcTime)
    to_at: Mapped[datetime | None] = mapped_column(UtcTime)
    reason: Mapped[str]
    source: Mapped[str]
    key_id: Mapped[str | None]
    cause: Mapped[str | None]
    action: Mapped[str | None]
    planned: Mapped[bool | None]
