"""Rows that several sources report: a new row is inserted, a stored one is completed.

Two reports of one row are merged by the rule of its kind. Neither their order nor a repeat
changes the result.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

from sqlalchemy import update
from sqlalchemy.orm import Session

from models import Base
from triage.store.database.upsert import insert_new


class Tally(NamedTuple):
    """How many rows were added, changed, and neither."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0

    def plus(self, other: "Tally") -> "Tally":
        """Both together."""
        return Tally(*map(sum, zip(self, other, strict=True)))


class _Keyed(Protocol):
    """A row before it is stored."""

    @property
    def key(self) -> Any:  # noqa: ANN401 - a tuple that sorts, of each kind its own
        """What makes two of them the same row."""


R = TypeVar("R", bound=_Keyed)


def keep_merged(
    session: Session,
    model: type[Base],
    rows: Iterable[R],
    *,
    stored_among: Callable[[Session, Iterable[R]], dict[Any, tuple[int, R]]],
    merge: Callable[[R, R], R],
    columns_of: Callable[[R], Mapping[str, Any]],
) -> Tally:
    """Insert new rows and complete stored ones.

    ``stored_among`` reads the stored ones, by key with their ids, and locks them until the
    session ends; ``merge`` joins two reports of one row, in either order.
    """
    wanted: dict[Any, R] = {}
    num_rows = 0
    for row in rows:
        num_rows += 1
        same = wanted.get(row.key)
        wanted[row.key] = row if same is None else merge(same, row)
    stored = stored_among(session, wanted.values())
    new = [wanted[key] for key in sorted(wanted.keys() - stored.keys())]
    added = insert_new(session, model, [columns_of(row) for row in new])
    if added < len(new):  # another session has inserted some of them meanwhile
        stored |= stored_among(session, new)
    changes = []
    for key, (row_id, before) in stored.items():
        after = merge(before, wanted[key])
        if after != before:
            changes.append({"id": row_id, **columns_of(after)})
    if changes:
        # By id: a fixed order of row locks avoids a deadlock.
        session.execute(update(model), sorted(changes, key=lambda row: row["id"]))
    return Tally(added, len(changes), num_rows - added - len(changes))
