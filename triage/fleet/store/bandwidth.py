"""What tests of collectives measured on the nodes of a cluster, and what is said of it."""

from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from models import HealthCheck
from triage.domain.category import Category
from triage.domain.health import Bandwidth, Outcome
from triage.fleet.store.checks import PLAIN, told_last

__all__ = ["NodeBandwidth", "measured", "say"]


@dataclass(frozen=True, slots=True)
class NodeBandwidth:
    """The newest bandwidth of a node. ``outcome`` and ``detail`` are those of its own report;
    ``said`` is what its row says now.
    """

    row_id: int
    node: str
    bandwidth: Bandwidth
    outcome: Outcome
    detail: str
    category: str | None
    said: tuple[str, str]


def measured(session: Session, cluster_id: int, check: str, limit: int) -> list[NodeBandwidth]:
    """The newest results of a check that measured something, one a node; ``limit`` at most."""
    row = HealthCheck
    found = (
        select(row.id, row.node, row.outcome, row.detail, row.history)
        .where(row.cluster_id == cluster_id, row.check == check, row.part == "")
        .order_by(row.at.desc(), row.id)
        .limit(limit)
    )
    rows: list[NodeBandwidth] = []
    for row_id, node, outcome, detail, history in session.execute(found):
        entry = told_last(history)
        if len(entry) > PLAIN:
            rows.append(
                NodeBandwidth(row_id, node, Bandwidth(*entry[PLAIN]), Outcome(entry[1]), entry[2],
                         entry[3], (outcome, detail))
            )  # fmt: skip
    return rows


def say(
    session: Session, row_id: int, outcome: Outcome, detail: str, category: Category | str | None
) -> None:
    """Let the row of a check say this; its history stays as it came."""
    values = {
        "outcome": str(outcome), "detail": detail,
        "category": None if category is None else str(category),
    }  # fmt: skip
    session.execute(update(HealthCheck).where(HealthCheck.id == row_id).values(**values))
