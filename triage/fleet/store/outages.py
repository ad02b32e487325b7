"""Outages and facts of nodes, each stored once, whichever source reports it."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from models import Node, Outage
from triage.fleet.store.merged_rows import Tally, keep_merged

__all__ = ["FACTS", "NewOutage", "keep_facts", "keep_outages"]

CHUNK: Final = 1000
FACTS: Final = ("generation", "rack", "leaf_switch")


class NewOutage(NamedTuple):
    """An outage before it is stored; its fields are the columns.

    ``key_id`` is the token that told the reason that stands.
    """

    node_id: int
    from_at: datetime
    to_at: datetime | None
    reason: str
    source: str
    key_id: str | None = None

    @property
    def key(self) -> tuple[int, datetime]:
        """What makes two of them the same outage."""
        return self.node_id, self.from_at


def keep_outages(session: Session, outages: Iterable[NewOutage]) -> Tally:
    """Store these outages; a stored one gets an end that is reported now.

    Of two different ends the earlier one stands, in whichever order they come.
    """
    return keep_merged(
        session,
        Outage,
        outages,
        stored_among=_stored_outages,
        merge=_merge,
        columns_of=NewOutage._asdict,
    )


def keep_facts(session: Session, facts: Mapping[int, Mapping[str, str]]) -> Tally:
    """Facts of nodes by key: the last report of each stands, an empty one removes none."""
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


def _stored_outages(
    session: Session, wanted: Iterable[NewOutage]
) -> dict[tuple[int, datetime], tuple[int, NewOutage]]:
    keys = {outage.key for outage in wanted}
    nodes = sorted({node for node, _ in keys})
    columns = (getattr(Outage, name) for name in NewOutage._fields)
    query = select(Outage.id, *columns).order_by(Outage.id).with_for_update()
    found: dict[tuple[int, datetime], tuple[int, NewOutage]] = {}
    for start in range(0, len(nodes), CHUNK):
        chunk = nodes[start : start + CHUNK]
        for row_id, *values in session.execute(query.where(Outage.node_id.in_(chunk))):
            outage = NewOutage._make(values)
            if outage.key in keys:
                found[outage.key] = row_id, outage
    return found


def _merge(one: NewOutage, other: NewOutage) -> NewOutage:
    ends = [end for end in (one.to_at, other.to_at) if end is not None]
    first = min(one, other, key=lambda outage: (not outage.reason, outage.reason, outage.source))
    return first._replace(to_at=min(ends, default=None))
