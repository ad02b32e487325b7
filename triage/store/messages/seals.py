"""Seals of rows that are there already: renewed under the first key, or taken off.

A database of a release without seals holds addresses and secrets in clear. They are sealed
when a service starts; so are those under a key that is no longer the first.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from models import Delivery, Subscription
from triage.domain.states import DeliveryState
from triage.store.database.engine import Database
from triage.store.database.sealing import MARK, Sealer, get_sealer

_BATCH: Final = 500


def seal_rows(database: Database) -> int:
    """Every receiver, and every message that is not sent or in clear; how many rows changed.

    Commits as it goes, so that others write meanwhile. A second run changes nothing.
    """
    clear = Delivery.url.not_like(f"{MARK}%")
    waits = Delivery.state == DeliveryState.PENDING
    return _change_each_row(database, Sealer.renew, Sealer.renew_bytes, [or_(clear, waits)])


def unseal_rows(database: Database) -> int:
    """All in clear again, as the release before this one reads it; how many rows changed."""

    def opened(sealer: Sealer, stored: str) -> str:
        value = sealer.open(stored)
        return stored if value is None else value

    def opened_bytes(sealer: Sealer, stored: bytes) -> bytes:
        value = sealer.open_bytes(stored)
        return stored if value is None else value

    return _change_each_row(database, opened, opened_bytes, [])


def _change_each_row(
    database: Database,
    text: Callable[[Sealer, str], str],
    raw: Callable[[Sealer, bytes], bytes],
    which: list[Any],
) -> int:
    changed = 0
    for session, rows in _list_batches(database, Subscription, []):
        sealer = get_sealer(session)
        for row in rows:
            row.url = text(sealer, row.url)
            row.routing_key = row.routing_key and text(sealer, row.routing_key)
            row.secrets = [text(sealer, one) for one in row.secrets]
        changed += sum(session.is_modified(row) for row in rows)
    for session, rows in _list_batches(database, Delivery, which):
        sealer = get_sealer(session)
        for row in rows:
            row.url, row.body = text(sealer, row.url), raw(sealer, row.body)
        changed += sum(session.is_modified(row) for row in rows)
    return changed


def _list_batches(
    database: Database, table: type[Any], which: list[Any]
) -> Iterator[tuple[Session, list[Any]]]:
    """Rows in the order of their ids, each batch locked and committed for itself."""
    after = ""
    while True:
        with database.writing() as session:
            query = select(table).where(table.id > after, *which).order_by(table.id).limit(_BATCH)
            rows = list(session.scalars(query.with_for_update()))
            if not rows:
                return
            after = rows[-1].id
            yield session, rows
