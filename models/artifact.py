"""One uploaded file."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, Json, UtcTime

__all__ = ["Artifact"]


class Artifact(Base):
    """``identity`` is made of kind, node, rank and SHA-256; the same file again is the same row.

    ``name_hash`` is of node and filename, which are too long to be indexed.
    ``size_bytes`` is as it came, after the Content-Encoding; ``position`` and
    ``stored_bytes`` say where in the blob of the upload its frame lies. ``is_digest`` tells the
    digest of a dump that was made on its node; null is a file of an earlier release.
    """

    __tablename__ = "artifact"
    __table_args__ = (
        UniqueConstraint("incident_id", "identity"),
        Index(None, "upload_id"),
        Index(None, "incident_id", "state"),
        Index(None, "incident_id", "name_hash"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    incident_id: Mapped[str] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"))
    upload_id: Mapped[str] = mapped_column(ForeignKey("upload.id", ondelete="CASCADE"))
    identity: Mapped[str]
    node: Mapped[str | None]
    rank: Mapped[int | None]
    kind: Mapped[str]
    is_digest: Mapped[bool | None]
    filename: Mapped[str]
    name_hash: Mapped[str]
    sha256: Mapped[str]
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    position: Mapped[int] = mapped_column(BigInteger)
    stored_bytes: Mapped[int] = mapped_column(BigInteger)
    state: Mapped[str]
    reason: Mapped[str | None]
    redacted: Mapped[dict[str, Any]] = mapped_column(Json, default=dict)
    tries: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
