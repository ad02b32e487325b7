"""What a person had erased: an artifact or an incident, which must not come back by itself."""

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, Name, UtcTime

__all__ = ["Erasure"]


class Erasure(Base):
    """``subject`` is the id of what went; ``identity`` that of an artifact within its incident.

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
