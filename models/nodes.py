"""Nodes of a cluster: their parts, sets of them, and what monitoring said of them."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, LargeBinary, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, BigId, Json, Name, UtcTime


class Node(Base):
    """A node, by its scheduler name, from the first time that anything named it.

    Known since a hook, an upload or a line of a log named it.

    ``generation``, ``rack``, ``batch``, ``cage``, ``slot`` and ``role`` are what an inventory said
    last; ``leaf_switch`` that, or what a job said of its nodes.
    """

    __tablename__ = "node"
    __table_args__ = (UniqueConstraint("cluster_id", "name"), Index(None, "name"))

    id: Mapped[int] = mapped_column(primary_key=True)
    cluster_id: Mapped[int] = mapped_column(ForeignKey("cluster.id"))
    name: Mapped[str] = mapped_column(Name)
    first_seen_at: Mapped[datetime] = mapped_column(UtcTime)
    last_seen_at: Mapped[datetime] = mapped_column(UtcTime)
    generation: Mapped[str | None]
    rack: Mapped[str | None]
    leaf_switch: Mapped[str | None]
    batch: Mapped[str | None]
    cage: Mapped[str | None]
    slot: Mapped[str | None]
    role: Mapped[str | None]


class Cluster(Base):
    """A cluster: where jobs, and nodes of one name, belong together.

    ``name`` is what hooks and uploads call it; empty where nobody said.
    """

    __tablename__ = "cluster"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(Name, unique=True)


class NodeNotice(Base):
    """What a monitoring system said of a node, kept for the incidents that open later.

    A health event, or an alert; ``cluster_id`` is that of the token, or of none.

    ``at`` is its own time, else when it came. ``created_at`` is when it came first, ``seen_at``
    when it came last: an alert that goes on is sent again. ``body`` is the file that incidents
    get, without secrets, and ``redacted`` says which those were; ``sha256`` is of it. ``summary``
    is one line for a person.
    """

    __tablename__ = "node_notice"
    __table_args__ = (
        UniqueConstraint("cluster_id", "node", "sha256"),
        Index(None, "cluster_id", "node", "at"),
        Index(None, "seen_at"),
        Index(None, "key_id", "id"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    cluster_id: Mapped[int] = mapped_column(ForeignKey("cluster.id"))
    node: Mapped[str] = mapped_column(Name)
    source: Mapped[str]
    kind: Mapped[str]
    sha256: Mapped[str]
    at: Mapped[datetime] = mapped_column(UtcTime)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    seen_at: Mapped[datetime] = mapped_column(UtcTime)
    key_id: Mapped[str | None]
    summary: Mapped[str]
    redacted: Mapped[dict[str, Any]] = mapped_column(Json)
    body: Mapped[bytes] = mapped_column(LargeBinary)


class NodeSet(Base):
    """The nodes that a run was on, kept once for all runs on the same ones.

    ``spans``: keys of ``node``, packed by ``triage.fleet.store.exposure``; ``sha256`` of them.

    A fleet's nodes were mostly first seen together, so 2,048 of them are a few hundred bytes.
    """

    __tablename__ = "node_set"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    sha256: Mapped[str] = mapped_column(unique=True)
    num_nodes: Mapped[int]
    spans: Mapped[bytes] = mapped_column(LargeBinary)


class PartSighting(Base):
    """A piece of hardware in a node, by the identity that its maker gave it.

    One stay of a part in a node, from the first to the last time that something named it there.

    ``kind`` is ``gpu``, ``board``, ``nic`` or ``chassis``; ``identity`` its UUID, serial or GUID;
    ``slot`` where in the node it sat, empty where nobody says. A part that comes back after it was
    seen in another node has a row for each stay. ``key_id`` is the token that told it first.
    """

    __tablename__ = "part_sighting"
    __table_args__ = (
        UniqueConstraint("kind", "identity", "node_id", "first_at"),
        Index(None, "node_id"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    node_id: Mapped[int] = mapped_column(ForeignKey("node.id"))
    kind: Mapped[str]
    identity: Mapped[str] = mapped_column(Name)
    slot: Mapped[str]
    first_at: Mapped[datetime] = mapped_column(UtcTime)
    last_at: Mapped[datetime] = mapped_column(UtcTime)
    source: Mapped[str]
    key_id: Mapped[str | None]
