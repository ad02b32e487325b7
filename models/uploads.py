"""Files that came in: uploads, the artifacts in them, what they came down to, what was erased."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, LargeBinary, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, Json, Name, UtcTime


class Artifact(Base):
    """One uploaded file.

    ``identity`` is made of kind, node, rank and SHA-256; the same file again is the same row.

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


class Upload(Base):
    """One request that brought bytes: one blob, which holds its artifacts one behind the other.

    ``blob_key`` is None once the bytes were pruned; ``key_id`` is the token that brought it.
    """

    __tablename__ = "upload"
    __table_args__ = (
        Index(None, "incident_id"),
        Index(None, "created_at"),
        Index(None, "key_id"),
        Index(None, "blob_key"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    incident_id: Mapped[str] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"))
    blob_key: Mapped[str | None]
    stored_bytes: Mapped[int] = mapped_column(BigInteger)
    key_id: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(UtcTime)


class Digest(Base):
    """What one artifact came down to, in the readers' own form: enough to answer without its bytes.

    ``extract`` is a packed ``triage.parsers.extract.extract.Extract``.
    """

    __tablename__ = "digest"
    # For the database itself: an artifact that goes takes its digest along.
    __table_args__ = (Index(None, "artifact_id"),)

    incident_id: Mapped[str] = mapped_column(
        ForeignKey("incident.id", ondelete="CASCADE"), primary_key=True
    )
    artifact_id: Mapped[str] = mapped_column(
        ForeignKey("artifact.id", ondelete="CASCADE"), primary_key=True
    )
    extract: Mapped[bytes] = mapped_column(LargeBinary)


class Erasure(Base):
    """What a person had erased: an artifact or an incident, which must not come back by itself.

    ``subject`` is the id of what went; ``identity`` that of an artifact within its incident.

    Of an incident, each of its artifacts is a row too: the same files would come again from a
    spool, and open another incident of the job.
    """

    __tablename__ = "erasure"
    __table_args__ = (Index(None, "job_id"), Index(None, "incident_id"))

    subject: Mapped[str] = mapped_column(primary_key=True)
    incident_id: Mapped[str]
    job_id: Mapped[str] = mapped_column(Name)
    identity: Mapped[str | None]
    at: Mapped[datetime] = mapped_column(UtcTime)
    actor: Mapped[str]
    reason: Mapped[str]


class UnreferencedBlob(Base):
    """A blob whose bytes are to go, because they are too old or a person wants it."""

    __tablename__ = "unreferenced_blob"

    blob_key: Mapped[str] = mapped_column(primary_key=True)
    marked_at: Mapped[datetime] = mapped_column(UtcTime)
