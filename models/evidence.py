"""Rows of evidence, as ``triage parse`` prints them, for questions over one incident and many."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, BigId, Json, Name, UtcTime

__all__ = ["Evidence"]


class Evidence(Base):
    """``ordinal`` counts the rows of one artifact; ``extra`` holds what is never asked for in SQL.

    ``artifact`` is the artifact's name in reports.
    """

    __tablename__ = "evidence"
    __table_args__ = (
        UniqueConstraint("artifact_id", "ordinal"),
        Index(None, "incident_id", "id"),
        Index("ix_evidence_node_role", "node", "role", "at"),
        # Which codes each node of a fleet has said in a year, read from the index alone.
        Index(
            "ix_evidence_xid",
            "role",
            "at",
            "node",
            "code",
            postgresql_where=text("kind = 'xid'"),
            sqlite_where=text("kind = 'xid'"),
        ),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    incident_id: Mapped[str] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"))
    artifact_id: Mapped[str] = mapped_column(ForeignKey("artifact.id", ondelete="CASCADE"))
    ordinal: Mapped[int]
    artifact: Mapped[str]
    line: Mapped[int | None] = mapped_column(BigId)
    at: Mapped[datetime | None] = mapped_column(UtcTime)
    clock: Mapped[str]
    node: Mapped[str | None] = mapped_column(Name)
    rank: Mapped[int | None] = mapped_column(BigId)
    kind: Mapped[str]
    code: Mapped[int | None] = mapped_column(BigId)
    gpu: Mapped[str | None]
    category: Mapped[str | None]
    role: Mapped[str]
    signature: Mapped[str]
    text: Mapped[str]
    count: Mapped[int] = mapped_column(BigId)
    extra: Mapped[dict[str, Any]] = mapped_column(Json)
