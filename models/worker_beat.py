"""When each worker and scheduler that runs by itself was last seen going round."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, UtcTime

__all__ = ["WorkerBeat"]


class WorkerBeat(Base):
    """One process by its ``name`` (``worker 12@host``); the row goes when the process ends well."""

    __tablename__ = "worker_beat"

    name: Mapped[str] = mapped_column(primary_key=True)
    seen_at: Mapped[datetime] = mapped_column(UtcTime)
