"""Outages and facts of nodes, each stored once, whichever source reports it."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import select, tuple_, update
from sqlalchemy.orm import Session

from models import Node, Outage, Repair
from triage.fleet.domain.exposure import FACTS
from triage.fleet.domain.same_outage import complete_fields, is_contradiction, order_reports
from triage.fleet.store.merged_rows import Tally, keep_merged


class NewRepair(NamedTuple):
    """A repair before it is stored; its fields are the columns."""

    node_id: int
    at: datetime
    action: str
    text: str
    source: str
    key_id: str | None = None

    @property
    def key(self) -> tuple[int, datetime, str]:
        """What makes two of them the same repair."""
        return self.node_id, self.at, self.action


def keep_repairs(session: Session, repairs: Iterable[NewRepair]) -> Tally:
    """Store these repairs. Of two texts of one repair the first in the alphabet stands."""
    return keep_merged(
        session,
        Repair,
        repairs,
        stored_among=_load_stored_repairs,
        merge=_merge_repairs,
        columns_of=NewRepair._asdict,
    )


def _load_stored_repairs(
    session: Session, wanted: Iterable[NewRepair]
) -> dict[tuple[int, datetime, str], tuple[int, NewRepair]]:
    keys = {repair.key for repair in wanted}
    nodes = sorted({node for node, _, _ in keys})
    columns = (getattr(Repair, name) for name in NewRepair._fields)
    query = select(Repair.id, *columns).order_by(Repair.id).with_for_update()
    found: dict[tuple[int, datetime, str], tuple[int, NewRepair]] = {}
    for start in range(0, len(nodes), _CHUNK):
        chunk = nodes[start : start + _CHUNK]
        for row_id, *values in session.execute(query.where(Repair.node_id.in_(chunk))):
            repair = NewRepair._make(values)
            if repair.key in keys:
                found[repair.key] = row_id, repair
    return found


def _merge_repairs(one: NewRepair, other: NewRepair) -> NewRepair:
    return min(one, other, key=lambda repair: (not repair.text, repair.text, repair.source))


_CHUNK: Final = 1000


class StoredOutage(NamedTuple):
    """An outage as it is stored; its fields are the columns.

    ``cause``, ``action`` and ``planned`` are as :class:`triage.fleet.domain.exposure.Outage`
    has them. ``key_id`` is the token that told the reason that stands.
    """

    node_id: int
    from_at: datetime
    to_at: datetime | None
    reason: str
    source: str
    key_id: str | None = None
    cause: str | None = None
    action: str | None = None
    planned: bool | None = None

    @property
    def key(self) -> tuple[int, datetime]:
        """What makes two of them the same outage."""
        return self.node_id, self.from_at


def keep_outages(session: Session, outages: Iterable[StoredOutage]) -> tuple[Tally, int]:
    """Store these outages; a stored one gets an end that is reported now.

    Two reports of one are merged as ``same_outage`` says, in whichever order they come. The
    second number counts reports that contradict another one of the same node and start.
    """
    contradictions = 0

    def merge(one: StoredOutage, other: StoredOutage) -> StoredOutage:
        nonlocal contradictions
        contradictions += is_contradiction(one, other)
        return _merge(one, other)

    tally = keep_merged(
        session,
        Outage,
        outages,
        stored_among=_load_stored_outages,
        merge=merge,
        columns_of=StoredOutage._asdict,
    )
    return tally, contradictions


def keep_facts(session: Session, facts: Mapping[int, Mapping[str, str]]) -> Tally:
    """Facts of nodes by key: the last report of each stands, an empty one removes none."""
    changes: list[dict[str, Any]] = []
    keys = sorted(facts)
    for start in range(0, len(keys), _CHUNK):
        rows = session.execute(
            select(Node.id, *(getattr(Node, name) for name in FACTS)).where(
                Node.id.in_(keys[start : start + _CHUNK])
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


def _load_stored_outages(
    session: Session, wanted: Iterable[StoredOutage]
) -> dict[tuple[int, datetime], tuple[int, StoredOutage]]:
    keys = sorted({outage.key for outage in wanted})
    columns = (getattr(Outage, name) for name in StoredOutage._fields)
    query = select(Outage.id, *columns).order_by(Outage.id).with_for_update()
    found: dict[tuple[int, datetime], tuple[int, StoredOutage]] = {}
    for start in range(0, len(keys), _CHUNK):
        chunk = keys[start : start + _CHUNK]
        same = tuple_(Outage.node_id, Outage.from_at).in_(chunk)
        for row_id, *values in session.execute(query.where(same)):
            outage = StoredOutage._make(values)
            found[outage.key] = row_id, outage
    return found


def _merge(one: StoredOutage, other: StoredOutage) -> StoredOutage:
    # By an order of all that is told, so that three reports give the same in any order.
    first, last = sorted((one, other), key=lambda row: (*order_reports(row), row.source))
    return first._replace(**complete_fields(first, last))
