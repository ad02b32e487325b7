"""Telemetry of nodes, by the day."""

from sqlalchemy import ForeignKey, Index, LargeBinary, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, BigId, Name


class TelemetryDay(Base):
    """What the telemetry of one node of one day comes down to: what a fleet's report sums up.

    ``day`` counts from 1970-01-01 in UTC. Minutes are summed over GPUs, growth over all parts.
    A release before wrote ``hours``, and rows without a node; it left ``link_recovery_growth`` out.
    """

    __tablename__ = "telemetry_day"
    __table_args__ = (UniqueConstraint("cluster_id", "node", "day"), Index(None, "day"))

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    cluster_id: Mapped[int] = mapped_column(ForeignKey("cluster.id"))
    node: Mapped[str] = mapped_column(Name)
    day: Mapped[int]
    num_samples: Mapped[int] = mapped_column(BigId)
    throttled_minutes: Mapped[float]
    brake_minutes: Mapped[float]
    gpu_temp_max_c: Mapped[float | None]
    inlet_mean_c: Mapped[float | None]
    ecc_growth: Mapped[float]
    ecc_corrected_growth: Mapped[float]
    remap_growth: Mapped[float]
    nvlink_growth: Mapped[float]
    ib_growth: Mapped[float]
    link_recovery_growth: Mapped[float | None]
    hours: Mapped[bytes | None] = mapped_column(LargeBinary)
    key_id: Mapped[str | None]


class TelemetryPack(Base):
    """The hours of one node's day, series by series; read when more comes, and for one node.

    Beside the day and not in it: a report over many days reads none of this.
    """

    __tablename__ = "telemetry_pack"

    day_id: Mapped[int] = mapped_column(
        BigId, ForeignKey("telemetry_day.id", ondelete="CASCADE"), primary_key=True
    )
    cells: Mapped[bytes] = mapped_column(LargeBinary)
