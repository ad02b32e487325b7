"""The nodes that a run was on, kept once for all runs on the same ones."""

from sqlalchemy import LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, BigId

__all__ = ["NodeSet"]


class NodeSet(Base):
    """``spans``: keys of ``node``, packed by ``triage.fleet.store.node_sets``; ``sha256`` of them.

    A fleet's nodes were mostly first seen together, so 2,048 of them are a few hundred bytes.
    """

    __tablename__ = "node_set"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    sha256: Mapped[str] = mapped_column(unique=True)
    num_nodes: Mapped[int]
    spans: Mapped[bytes] = mapped_column(LargeBinary)
