"""What one artifact came down to, in the readers' own form: enough to answer without its bytes."""

from sqlalchemy import ForeignKey, Index, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base

__all__ = ["Digest"]


class Digest(Base):
    """``extract`` is a packed ``triage.parsers.extract.extract.Extract``."""

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
