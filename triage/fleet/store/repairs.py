"""Repairs that belong to no outage, each stored once, whichever source reports it."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import Repair
from triage.fleet.store.merged_rows import Tally, keep_merged

_CHUNK: Final = 1000


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
        stored_among=_stored_repairs,
        merge=_merge,
        columns_of=NewRepair._asdict,
    )


def _stored_repairs(
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


def _merge(one: NewRepair, other: NewRepair) -> NewRepair:
    return min(one, other, key=lambda repair: (not repair.text, repair.text, repair.source))
