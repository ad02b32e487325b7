"""The record of a fleet: runs, outages, repairs and past stops."""

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, BigId, Name, UtcTime


class Run(Base):
    """One attempt of a job on one set of nodes, from its start to its end: what was at risk.

    ``started_at`` is to the second: schedulers and hooks that tell of one run differ below it.

    ``ended_at`` is None while nobody has told the end; then ``seen_at`` is when it was last
    said to run, and it counts until then. Its incidents are those of the job within its time.
    """

    __tablename__ = "run"
    __table_args__ = (
        UniqueConstraint("cluster_id", "job_id", "started_at"),
        Index(None, "started_at"),
        Index(None, "node_set_id"),
        Index(None, "key_id"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    cluster_id: Mapped[int] = mapped_column(ForeignKey("cluster.id"))
    job_id: Mapped[str] = mapped_column(Name)
    started_at: Mapped[datetime] = mapped_column(UtcTime)
    ended_at: Mapped[datetime | None] = mapped_column(UtcTime)
    seen_at: Mapped[datetime] = mapped_column(UtcTime)
    ending: Mapped[str]
    cause: Mapped[str | None]
    num_nodes: Mapped[int] = mapped_column(BigInteger)
    num_gpus: Mapped[int] = mapped_column(BigInteger)
    node_set_id: Mapped[int | None] = mapped_column(BigId, ForeignKey("node_set.id"))
    source: Mapped[str]
    key_id: Mapped[str | None]


class Outage(Base):
    """A node out of service: drained, down, in repair.

    ``from_at`` is to the second; ``to_at`` is None while it lasts, as far as anybody said.

    ``cause`` and ``action`` are values of ``triage.fleet.domain``; None in rows of a release that
    did not ask for them.
    """

    __tablename__ = "outage"
    __table_args__ = (UniqueConstraint("node_id", "from_at"), Index(None, "from_at"))

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    node_id: Mapped[int] = mapped_column(ForeignKey("node.id"))
    from_at: Mapped[datetime] = mapped_column(UtcTime)
    to_at: Mapped[datetime | None] = mapped_column(UtcTime)
    reason: Mapped[str]
    source: Mapped[str]
    key_id: Mapped[str | None]
    cause: Mapped[str | None]
    action: Mapped[str | None]
    planned: Mapped[bool | None]


class Repair(Base):
    """What somebody did to a node: a note or a ticket that says so.

    ``at`` is when it was done, to the second; ``action`` is a
    :class:`triage.fleet.domain.cause.RepairAction`. ``key_id`` is the token that told it.
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


class PastStop(Base):
    """What stays of an incident removed for its age: that a job stopped, when, and of what.

    Some hundred bytes, kept for good: a year's causes are asked for when its files are gone.

    ``incident_id`` is that of the incident that was; ``key`` and ``created_at`` are its own,
    ``kind`` and ``category`` those of its last verdict.
    """

    __tablename__ = "past_stop"
    __table_args__ = (Index(None, "cluster_id", "created_at"),)

    incident_id: Mapped[str] = mapped_column(primary_key=True)
    cluster_id: Mapped[int] = mapped_column(ForeignKey("cluster.id"))
    job_id: Mapped[str] = mapped_column(Name)
    key: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    kind: Mapped[str]
    category: Mapped[str | None]


class PastSuspect(Base):
    """Who was suspected of a stop whose incident was removed for its age.

    As :class:`models.incidents.Suspect`, without the row of the report.
    """

    __tablename__ = "past_suspect"

    incident_id: Mapped[str] = mapped_column(
        ForeignKey("past_stop.incident_id", ondelete="CASCADE"), primary_key=True
    )
    position: Mapped[int] = mapped_column(primary_key=True)
    node: Mapped[str] = mapped_column(Name)
    category: Mapped[str]
    role: Mapped[str]
    score: Mapped[float]
    part: Mapped[str]
