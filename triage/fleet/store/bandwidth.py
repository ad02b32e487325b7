"""What tests of collectives measured on the nodes of a cluster, and what their rows show."""

from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from models import HealthCheck
from triage.domain.category import Category
from triage.domain.health import Bandwidth, Outcome
from triage.fleet.store.checks import PLAIN, last_result


@dataclass(frozen=True, slots=True)
class NodeBandwidth:
    """The newest bandwidth of a node. ``outcome`` and ``detail`` are those of its own report;
    ``shown`` is what its row shows now.
    """

    row_id: int
    node: str
    bandwidth: Bandwidth
    outcome: Outcome
    detail: str
    category: str | None
    shown: tuple[str, str]


def list_bandwidths(
    session: Session, cluster_id: int, check: str, limit: int
) -> list[NodeBandwidth]:
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
        entry = last_result(history)
        if len(entry) > PLAIN and entry[PLAIN] is not None:
            rows.append(
                NodeBandwidth(
                    row_id=row_id,
                    node=node,
                    bandwidth=Bandwidth(*entry[PLAIN]),
                    outcome=Outcome(entry[1]),
                    detail=entry[2],
                    category=entry[3],
                    shown=(outcome, detail),
                )
            )
    return rows


def show(
    session: Session, row_id: int, outcome: Outcome, detail: str, category: Category | str | None
) -> None:
    """Show this in the row of a check; its history stays as it came."""
    named = None if category is None else str(category)
    change = update(HealthCheck).where(HealthCheck.id == row_id)
    session.execute(change.values(outcome=str(outcome), detail=detail, category=named))
