"""What somebody did to a node: a note or a ticket that says so."""

from datetime import datetime

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, BigId, UtcTime

__all__ = ["Repair"]


class Repair(Base):
    """``at`` is when it was done, to the second; ``action`` is a
    :class:`triage.fleet.domain.repair.RepairAction`. ``key_id`` is the token that told it.
    """

    __tablename__ = "repair"
    __table_args__ = (UniqueConstraint("node_id", "at", "action"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    node_id: Mapped[int] = mapped_column(ForeignKey("node.id"))
    at: Mapped[datetime] = mapped_column(UtcTime)
    action: Mapped[str]
    text: Mapped[str]
    source: Mapped[str]
    key_id: Mapped[str | None]
