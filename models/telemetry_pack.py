"""The hours of one node's day, series by series, packed: read when more comes, and for one node."""

from sqlalchemy import ForeignKey, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, BigId

__all__ = ["TelemetryPack"]


class TelemetryPack(Base):
    """Beside the day and not in it: a report over many days reads none of this."""

    __tablename__ = "telemetry_pack"

    day_id: Mapped[int] = mapped_column(
        BigId, ForeignKey("telemetry_day.id", ondelete="CASCADE"), primary_key=True
    )
    cells: Mapped[bytes] = mapped_column(LargeBinary)
