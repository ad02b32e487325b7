"""Incidents: the job, what was read of it, and each answer."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, LargeBinary, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, BigId, Json, Name, UtcTime
from triage.domain.answer_wire import answer_from_bytes
from triage.domain.report import Answer
from triage.errors import Corrupt, Unavailable


class Incident(Base):
    """One failure of one job, from the first word of it to the settled answer.

    ``key`` tells the failures of a job apart: the time of the failure; ``open`` while nobody
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


class IncidentFacts(Base):
    """What was said of an incident's job, by whom.

    One job.json object as it came. ``source`` is what brought it (``hook``, ``job_json``, ...),
    ``state`` whether it counts: ``used``, ``conflict`` (it contradicts a settled incident) or
    ``tainted`` (its key is no longer believed).
    """

    __tablename__ = "incident_facts"
    __table_args__ = (Index(None, "incident_id", "id"), Index(None, "key_id"))

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    incident_id: Mapped[str] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"))
    source: Mapped[str]
    key_id: Mapped[str | None]
    at: Mapped[datetime] = mapped_column(UtcTime)
    state: Mapped[str]
    facts: Mapped[dict[str, Any]] = mapped_column(Json)


class Job(Base):
    """A training job of a scheduler; it may fail more than once.

    ``job_id`` is the scheduler's text; ``last_turn`` is where its latest work stands in line.
    """

    __tablename__ = "job"
    __table_args__ = (UniqueConstraint("cluster_id", "job_id"), Index(None, "job_id"))

    id: Mapped[int] = mapped_column(primary_key=True)
    cluster_id: Mapped[int] = mapped_column(ForeignKey("cluster.id"))
    job_id: Mapped[str] = mapped_column(Name)
    last_turn: Mapped[int] = mapped_column(BigInteger, default=0)
    created_at: Mapped[datetime] = mapped_column(UtcTime)


class Evidence(Base):
    """Rows of evidence, as ``triage parse`` prints them, for questions over one incident and many.

    ``ordinal`` counts the rows of one artifact; ``extra`` holds what is never asked for in SQL.

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


class Revision(Base):
    """One answer to an incident; a later one replaces it, none is changed.

    ``answer`` is the whole answer, packed by :mod:`triage.domain.answer_wire`.

    It is the one stored form: the report, the time line and the pictures are derived from it
    when they are asked for. What lists, filters and statistics read of the newest answer stands
    in columns of ``incident`` and ``suspect`` beside it, written in the same transaction.
    """

    __tablename__ = "revision"

    incident_id: Mapped[str] = mapped_column(
        ForeignKey("incident.id", ondelete="CASCADE"), primary_key=True
    )
    revision: Mapped[int] = mapped_column(primary_key=True)
    provisional: Mapped[bool]
    answer: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime] = mapped_column(UtcTime)

    def reported(self) -> Answer:
        """The answer as far as reports and messages say it: what only pictures need is left out.

        Raises :class:`Unavailable` for bytes that cannot be read.
        """
        try:
            return answer_from_bytes(self.answer, pictures=False)
        except Corrupt as error:
            raise Unavailable(
                f"revision {self.revision} of {self.incident_id} cannot be read: {error}",
                hint="restore the database from a backup; or send one more file of the incident,"
                " which has it answered again",
            ) from error


class Suspect(Base):
    """The suspects of the newest answer of each incident.

    ``row`` is the suspect as the report prints it; it repeats a part of the newest answer, as
    the other columns do: ``/suspects``, repeats and the fleet's record read many incidents at
    once, and none of their answers.

    ``part`` is what its reasons name first, empty where they name none; None where nobody has
    looked: reading it out of the reasons of a year takes longer than all other questions.
    """

    __tablename__ = "suspect"
    __table_args__ = (
        Index(None, "node", "incident_id"),
        Index(None, "role", "node", "incident_id"),
    )

    incident_id: Mapped[str] = mapped_column(
        ForeignKey("incident.id", ondelete="CASCADE"), primary_key=True
    )
    position: Mapped[int] = mapped_column(primary_key=True)
    node: Mapped[str | None] = mapped_column(Name)
    category: Mapped[str]
    role: Mapped[str]
    score: Mapped[float]
    row: Mapped[dict[str, Any]] = mapped_column(Json)
    part: Mapped[str | None]


class Occurrence(Base):
    """Which recurring problem an incident belongs to, once its answer is final.

    ``problem_id`` is None where the answer describes nothing that recurs. ``by_hand``: a person
    has said it, and nothing else changes it. ``features`` is the fingerprint that ``version`` of
    :mod:`triage.analysis.fingerprint` made of the answer, within its ``stratum``; None where the
    answer was dropped. ``at`` is when the incident was opened: a problem is counted by this table
    alone.
    """

    __tablename__ = "occurrence"
    __table_args__ = (Index(None, "problem_id", "at"), Index(None, "cluster_id", "at"))

    incident_id: Mapped[str] = mapped_column(
        ForeignKey("incident.id", ondelete="CASCADE"), primary_key=True
    )
    cluster_id: Mapped[int] = mapped_column(ForeignKey("cluster.id"))
    at: Mapped[datetime] = mapped_column(UtcTime)
    problem_id: Mapped[str | None]
    by_hand: Mapped[bool] = mapped_column(default=False)
    stratum: Mapped[str | None]
    features: Mapped[dict[str, float] | None] = mapped_column(Json)
    version: Mapped[int]


class Resolution(Base):
    """What an incident turned out to be, said by a person: the label that accuracy is measured by.

    One per incident; said again, it is replaced.
    """

    __tablename__ = "resolution"
    __table_args__ = (Index(None, "node"),)

    incident_id: Mapped[str] = mapped_column(
        ForeignKey("incident.id", ondelete="CASCADE"), primary_key=True
    )
    category: Mapped[str]
    node: Mapped[str | None] = mapped_column(Name)
    note: Mapped[str | None]
    said_by: Mapped[str]
    resolved_at: Mapped[datetime] = mapped_column(UtcTime)
