"""Outages and facts of nodes: kept once each, whoever tells of them."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from models import Node, Outage
from triage.fleet.store.merged_rows import Tally, keep_told

__all__ = ["FACTS", "NewOutage", "keep_facts", "keep_outages"]

CHUNK: Final = 1000
FACTS: Final = ("generation", "rack", "leaf_switch")


class NewOutage(NamedTuple):
    """An outage as it is kept."""

    node: int
    from_at: datetime
    to_at: datetime | None
    reason: str
    source: str

    @property
    def key(self) -> tuple[int, datetime]:
        """What makes two of them the same outage."""
        return self.node, self.from_at


def keep_outages(session: Session, outages: Iterable[NewOutage]) -> Tally:
    """Keep these outages; of one that was known, an end that is told now is kept.

    Where two tell different ends the earlier one stands, whichever comes first.
    """
    return keep_told(
        session, Outage, outages, known_among=known_outages, of_two=of_two, columns_of=columns_of
    )


def keep_facts(session: Session, facts: Mapping[int, Mapping[str, str]]) -> Tally:
    """What is told of nodes, by their keys: the last word stands, nothing takes none away."""
    changes: list[dict[str, Any]] = []
    keys = sorted(facts)
    for start in range(0, len(keys), CHUNK):
        rows = session.execute(
            select(Node.id, Node.generation, Node.rack, Node.leaf_switch).where(
                Node.id.in_(keys[start : start + CHUNK])
            )
        )
        for key, *before in rows:
            now = dict(zip(FACTS, before, strict=True))
            after = now | {name: text for name, text in facts[key].items() if text}
            if after != now:
                changes.append({"id": key, **after})
    if changes:
        session.execute(update(Node), changes)
    return Tally(0, len(changes), len(keys) - len(changes))


def known_outages(
    session: Session, wanted: Iterable[NewOutage]
) -> dict[tuple[int, datetime], tuple[int, NewOutage]]:
    keys = {outage.key for outage in wanted}
    nodes = sorted({node for node, _ in keys})
    found: dict[tuple[int, datetime], tuple[int, NewOutage]] = {}
    for start in range(0, len(nodes), CHUNK):
        rows = session.execute(
            select(
                Outage.id, Outage.node_id, Outage.from_at, Outage.to_at, Outage.reason,
                Outage.source,
            )
            .where(Outage.node_id.in_(nodes[start : start + CHUNK]))
            .order_by(Outage.id)
            .with_for_update()
        )  # fmt: skip
        for row in rows:
            outage = NewOutage._make(row[1:])
            if outage.key in keys:
                found[outage.key] = row[0], outage
    return found


def of_two(one: NewOutage, other: NewOutage) -> NewOutage:
    ends = [end for end in (one.to_at, other.to_at) if end is not None]
    first = min(one, other, key=lambda outage: (not outage.reason, outage.reason, outage.source))
    return first._replace(to_at=min(ends, default=None))


def columns_of(outage: NewOutage) -> Mapping[str, Any]:
    return {
        "node_id": outage.node,
        "from_at": outage.from_at,
        "to_at": outage.to_at,
        "reason": outage.reason,
        "source": outage.source,
    }
