"""A piece of hardware in a node, by the identity that its maker gave it."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, BigId, Name, UtcTime

__all__ = ["PartSighting"]


class PartSighting(Base):
    """One stay of a part in a node, from the first to the last time that something named it there.

    ``kind`` is ``gpu``, ``board``, ``nic`` or ``chassis``; ``identity`` its UUID, serial or GUID;
    ``slot`` where in the node it sat, empty where nobody says. A part that comes back after it was
    seen in another node has a row for each stay. ``key_id`` is the token that told it first.
    """

    __tablename__ = "part_sighting"
    __table_args__ = (
        UniqueConstraint("kind", "identity", "node_id", "first_at"),
        Index(None, "node_id"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    node_id: Mapped[int] = mapped_column(ForeignKey("node.id"))
    kind: Mapped[str]
    identity: Mapped[str] = mapped_column(Name)
    slot: Mapped[str]
    first_at: Mapped[datetime] = mapped_column(UtcTime)
    last_at: Mapped[datetime] = mapped_column(UtcTime)
    source: Mapped[str]
    key_id: Mapped[str | None]
