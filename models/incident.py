"""One failure of one job, from the first word of it to the settled answer."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, Json, Name, UtcTime

__all__ = ["Incident"]


class Incident(Base):
    """``key`` tells the failures of a job apart: the time of the failure; ``open`` while nobody
    has said it and the incident is not settled; then its own id. Its uniqueness is what keeps
    two hooks, or a hook and an upload, from opening two incidents for one failure.

    ``attempt`` tells the starts of a job that is requeued under its id apart; empty where
    nobody said. ``facts`` is the job.json object, merged from ``incident_facts``. ``settle_at``
    is when the incident settles if nothing more comes, ``deadline_at`` when it settles in any
    case. ``inputs`` counts what could change the answer, ``answered_inputs`` how much of it the
    newest answer knows; that one took ``analyse_s``. ``wanted`` are the files that it asks for,
    also those that have come since. ``verdict``, ``coverage`` and ``category``
    repeat the newest revision's answer: a list of incidents shows them without unpacking one
    answer for each of its rows. ``restart`` does so for launchers, with the number of its
    ``revision``; another number is that of a process of 0.1. Facts and coverage name every node
    or rank of a large job, so they are loaded where they are read, not by each upload that
    counts itself.
    """

    __tablename__ = "incident"
    __table_args__ = (
        # PostgreSQL lets rows be added that refer to an incident while its `key` changes, but only
        # where no reference could be made to that key; that is, where its index leaves rows out.
        Index(
            "uq_incident_job_fk_key",
            "job_fk",
            "key",
            unique=True,
            postgresql_where=text("key IS NOT NULL"),
        ),
        Index(None, "created_at", "id"),
        Index(None, "state", "created_at", "id"),
        Index(None, "category", "created_at", "id"),
        Index(None, "settled_at"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    job_fk: Mapped[int] = mapped_column(ForeignKey("job.id"))
    key: Mapped[str]
    attempt: Mapped[str] = mapped_column(Name, default="", server_default="")
    announced: Mapped[bool]
    facts: Mapped[dict[str, Any]] = mapped_column(Json, deferred=True)
    state: Mapped[str]
    reason: Mapped[str | None]
    revision: Mapped[int] = mapped_column(default=0)
    provisional: Mapped[bool] = mapped_column(default=True)
    category: Mapped[str | None]
    verdict: Mapped[dict[str, Any] | None] = mapped_column(Json)
    coverage: Mapped[dict[str, Any] | None] = mapped_column(Json, deferred=True)
    wanted: Mapped[list[dict[str, Any]] | None] = mapped_column(Json, deferred=True)
    restart: Mapped[dict[str, Any] | None] = mapped_column(Json, deferred=True)
    expected_artifacts: Mapped[int | None]
    num_artifacts: Mapped[int] = mapped_column(default=0)
    inputs: Mapped[int] = mapped_column(default=0)
    answered_inputs: Mapped[int] = mapped_column(default=-1)
    analysed_at: Mapped[datetime | None] = mapped_column(UtcTime)
    analyse_s: Mapped[float] = mapped_column(default=0.0)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    updated_at: Mapped[datetime] = mapped_column(UtcTime)
    deadline_at: Mapped[datetime] = mapped_column(UtcTime)
    settle_at: Mapped[datetime] = mapped_column(UtcTime)
    settled_at: Mapped[datetime | None] = mapped_column(UtcTime)
