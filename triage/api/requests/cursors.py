"""Cursors: where a list goes on. Opaque to clients, and checked when they come back.

A cursor names the last row already seen, not a count, so that a list stays stable while
rows are added.
"""

import base64
import binascii
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import orjson
from fastapi import Depends, Request
from starlette.responses import Response

from triage.api.answers.json import page_of_rows
from triage.api.requests.values import Cursor, Limit
from triage.errors import Place, Unprocessable

# The longest holds some names, of up to 512 characters each.
_MAX_CHARS: Final = 8192
_MAX_ID: Final = 200
_MAX_DIGITS: Final = 18


def make_time_cursor(kind: str, at: datetime, row_id: str) -> str:
    """Behind the row of this time and id, in a list of that kind."""
    return _pack_values([kind, at.astimezone(UTC).isoformat(), row_id])


def parse_time_cursor(kind: str, cursor: str | None) -> tuple[datetime, str] | None:
    """Time and id of the last row seen. Raises :class:`Unprocessable` for a foreign cursor."""
    match _unpack_values(kind, cursor, 2):
        case None:
            return None
        case [str(text), str(row_id)] if len(row_id) <= _MAX_ID:
            try:
                at = datetime.fromisoformat(text)
            except ValueError as error:
                raise make_foreign_refusal() from error
            if at.tzinfo is not None:
                return at, row_id
    raise make_foreign_refusal()


def parse_row_cursor(kind: str, cursor: str | None) -> tuple[datetime, int] | None:
    """The same where ids are numbers."""
    seen = parse_time_cursor(kind, cursor)
    if seen is None:
        return None
    if not (seen[1].isascii() and seen[1].isdigit()) or len(seen[1]) > _MAX_DIGITS:
        raise make_foreign_refusal()
    return seen[0], int(seen[1])


def make_id_cursor(kind: str, number: int) -> str:
    """Behind the row of this number."""
    return _pack_values([kind, number])


def parse_id_cursor(kind: str, cursor: str | None) -> int | None:
    """Number of the last row seen."""
    match _unpack_values(kind, cursor, 1):
        case None:
            return None
        case [int(number)] if not isinstance(number, bool) and 0 <= number < 1 << 63:
            return number
    raise make_foreign_refusal()


def place_cursor(kind: str, revision: int, place: int) -> str:
    """Behind this many rows of that revision."""
    return _pack_values([kind, revision, place])


def parse_place_cursor(kind: str, cursor: str | None) -> tuple[int, int] | None:
    """Revision, and how many of its rows were seen."""
    match _unpack_values(kind, cursor, 2):
        case None:
            return None
        case [int(revision), int(place)] if revision >= 0 and place >= 0:
            return revision, place
    raise make_foreign_refusal()


def make_words_cursor(kind: str, words: Sequence[str]) -> str:
    """Behind the row that these words name."""
    return _pack_values([kind, *words])


def parse_words_cursor(kind: str, cursor: str | None, number: int) -> tuple[str, ...] | None:
    """The ``number`` words that name the last row seen."""
    found = _unpack_values(kind, cursor, number)
    if found is None:
        return None
    words = tuple(one for one in found if isinstance(one, str))
    if len(words) != number:
        raise make_foreign_refusal()
    return words


def _pack_values(values: Sequence[str | int]) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(values)).rstrip(b"=").decode()


def _unpack_values(kind: str, cursor: str | None, num_values: int) -> list[object] | None:
    if cursor is None:
        return None
    if len(cursor) > _MAX_CHARS or not cursor.isascii():
        raise make_foreign_refusal()
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        values = orjson.loads(raw)
    except (binascii.Error, ValueError) as error:
        raise make_foreign_refusal() from error
    if not isinstance(values, list) or len(values) != num_values + 1 or values[0] != kind:
        raise make_foreign_refusal()
    return values[1:]


class Paging:
    """The page of a list that a request asks for; ``num_rows`` are read, one more than it shows."""

    def __init__(self, request: Request, cursor: Cursor = None, limit: Limit = 50) -> None:
        self.request, self.cursor, self.limit, self.num_rows = request, cursor, limit, limit + 1

    def answer(self, kind: str, rows: Sequence[Any], at: str = "created_at") -> Response:
        """The page of rows in the order of the time ``at`` and their id; ``kind`` names the list
        in its cursors.
        """

        def cursor_of(row: Any) -> str:  # noqa: ANN401 - any view with an id and that time
            return make_time_cursor(kind, getattr(row, at), str(row.id))

        return page_of_rows(self.request, rows, self.limit, cursor_of, lambda row: row.to_dict())


Paged = Annotated[Paging, Depends()]


def make_foreign_refusal() -> Unprocessable:
    """The refusal of a cursor that was not made by this list."""
    return Unprocessable(
        "the cursor is none of this list",
        hint="take next_cursor of the page before, or leave it out to start again",
        places=(Place("query/cursor", "is none of this list"),),
    )
