"""Rows that several sources tell of: what is new is kept, what is there is completed.

Whatever the order in which they come, and however often: two who tell of one row are put
together by its own rule, and the same again changes nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

from sqlalchemy import update
from sqlalchemy.orm import Session

from models import Base
from triage.store.database.upsert import insert_new

__all__ = ["Tally", "keep_told"]


class Tally(NamedTuple):
    """What became of rows."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0

    def plus(self, other: "Tally") -> "Tally":
        """Both together."""
        return Tally(*(one + two for one, two in zip(self, other, strict=True)))


class Keyed(Protocol):
    """A row as it is kept, before it is one."""

    @property
    def key(self) -> Any:  # noqa: ANN401 - a tuple that sorts, of each kind its own
        """What makes two of them the same row."""


R = TypeVar("R", bound=Keyed)


def keep_told(
    session: Session,
    model: type[Base],
    told: Iterable[R],
    *,
    known_among: Callable[[Session, Iterable[R]], dict[Any, tuple[int, R]]],
    of_two: Callable[[R, R], R],
    columns_of: Callable[[R], Mapping[str, Any]],
) -> Tally:
    """Keep these rows; what was known of them already is completed.

    ``known_among`` reads those that are there, by key with their ids, and holds them until the
    session ends; ``of_two`` puts together what two tell of one, in either order.
    """
    wanted: dict[Any, R] = {}
    num_told = 0
    for row in told:
        num_told += 1
        same = wanted.get(row.key)
        wanted[row.key] = row if same is None else of_two(same, row)
    known = known_among(session, wanted.values())
    new = [wanted[key] for key in sorted(wanted.keys() - known.keys())]
    added = insert_new(session, model, [columns_of(row) for row in new])
    if added < len(new):  # somebody else kept some of them just now
        known |= known_among(session, new)
    changes = []
    for key, (row_id, before) in known.items():
        after = of_two(before, wanted[key])
        if after != before:
            changes.append({"id": row_id, **columns_of(after)})
    if changes:
        # By id: two that change the same rows do not wait for each other in a circle.
        session.execute(update(model), sorted(changes, key=lambda row: row["id"]))
    return Tally(added, len(changes), num_told - added - len(changes))
