"""Tickets as a table: the CSV of Jira or ServiceNow, or one of one's own.

::

    number,opened_at,closed_at,short_description,cmdb_ci,close_notes
    INC0010023,2026-11-20 22:00:00,2026-11-21 06:00:00,GPU 3 Xid 79,gpu003,GPU 3 replaced

A field in quotes may run over many lines. Columns that come several times (Jira writes a column
for each label and each comment) are all read.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from triage.fleet.parsers.columns import Columns
from triage.fleet.parsers.rows import Options, Row
from triage.fleet.parsers.tickets.columns import Column, column_of
from triage.fleet.parsers.tickets.ticket import KnownNodes, ticket_rows

__all__ = ["TIMES", "TicketReader"]

TIMES: Final = frozenset({Column.BEGIN, Column.END})


class TicketReader:
    """Claims a table with a title and a time."""

    name = "tickets"

    def __init__(self, columns: Columns, options: Options) -> None:
        self.options = options
        self.known = KnownNodes(options.nodes)
        found = [(column_of(name), place) for place, name in enumerate(columns.names)]
        # Of the columns that tell the same, the one that stands above the others comes first.
        self.places = sorted((key, place) for key, place in found if key is not None)

    @staticmethod
    def claims(columns: Columns, delimiter: str) -> bool:
        """By the names in the header."""
        found = {key[0] for name in columns.names if (key := column_of(name)) is not None}
        return delimiter != "|" and Column.TITLE in found and not TIMES.isdisjoint(found)

    def rows(self, fields: Sequence[str]) -> Iterator[Row]:
        """What the ticket of a row tells. Raises :class:`RowError`."""
        texts: dict[Column, list[str]] = {}
        for (column, _), place in self.places:
            if text := fields[place].strip():
                texts.setdefault(column, []).append(text)
        return ticket_rows(texts, self.known, self.options)
