"""Tickets as JSON: Jira's search, ServiceNow's table API, issues of GitHub or GitLab, a plain list.

::

    {"issues": [{"key": "OPS-7", "fields": {"summary": "gpu003: Xid 79", "created": ...,
      "resolutiondate": ..., "comment": {"comments": [{"body": "GPU 3 replaced"}]}}}]}
    {"result": [{"number": "INC0010023", "cmdb_ci": {"display_value": "gpu003"}, ...}]}
    [{"number": 7, "title": "gpu003: Xid 79", "created_at": ..., "labels": [{"name": "gpu"}]}]
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from triage.fleet.parsers.json_document import objects_in, sub
from triage.fleet.parsers.rows import Options, Row, RowError, Unread
from triage.fleet.parsers.tickets.columns import Column, column_of
from triage.fleet.parsers.tickets.table import TIMES
from triage.fleet.parsers.tickets.ticket import KnownNodes, ticket_rows

__all__ = ["NAME", "claims", "rows"]

NAME: Final = "tickets"
LISTS: Final = ("issues", "records", "result", "results", "tickets", "items")
# Of a nested value these say what it is called, or hold its text.
WORDS: Final = ("display_value", "name", "value", "text", "body", "comments", "content")
MOST_DEPTH: Final = 12
MOST_PARTS: Final = 1000


def claims(value: object) -> bool:
    """Whether the first object of the list has a title and a time."""
    for _, item in objects_in(tickets_of(value)):
        if item is not None:
            found = {key[0] for name in flat(item) if (key := column_of(name)) is not None}
            return Column.TITLE in found and not TIMES.isdisjoint(found)
    return False


def rows(value: object, options: Options) -> Iterator[Row]:
    """What each ticket tells."""
    known = KnownNodes(options.nodes)
    for place, item in objects_in(tickets_of(value)):
        if item is None:
            yield Unread(place, "it is no object")
            continue
        try:
            yield from ticket_rows(texts_of(item), known, options)
        except RowError as error:
            yield Unread(place, str(error))


def tickets_of(value: object) -> object:
    """The list that holds the tickets."""
    if isinstance(value, dict):
        return next((value[key] for key in LISTS if isinstance(value.get(key), list)), [value])
    return value


def flat(item: Mapping[str, Any]) -> dict[str, Any]:
    """A ticket with the fields that Jira puts one level deeper."""
    return {**item, **sub(item, "fields")}


def texts_of(item: Mapping[str, Any]) -> dict[Column, list[str]]:
    found: list[tuple[tuple[Column, int], str]] = []
    for name, value in flat(item).items():
        key = column_of(name)
        if key is not None:
            found += [(key, text) for text in words_in(value)]
    texts: dict[Column, list[str]] = {}
    for (column, _), text in sorted(found, key=lambda pair: pair[0]):
        texts.setdefault(column, []).append(text)
    return texts


def words_in(value: object, depth: int = 0) -> list[str]:
    """The texts of a value, however deep a tracker nests them."""
    if isinstance(value, str):
        return [value.strip()] if value.strip() else []
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [str(value)]
    if depth >= MOST_DEPTH:
        return []
    inner = value if isinstance(value, list) else []
    if isinstance(value, dict):
        inner = [value[key] for key in WORDS if key in value]
        # What a thing is called is enough; a text may have parts.
        inner = inner[:1] if "display_value" in value else inner
    return [text for one in inner[:MOST_PARTS] for text in words_in(one, depth + 1)][:MOST_PARTS]
