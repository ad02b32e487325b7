"""Tickets: what people wrote down of nodes, as a tracker exports it to CSV.

::

    number,opened_at,closed_at,short_description,cmdb_ci,close_notes
    INC0010023,2026-11-20 22:00:00,2026-11-21 06:00:00,GPU 3 Xid 79,gpu003,GPU 3 replaced

``tickets.toml`` says what the columns of each tracker tell; a column that comes several times
(Jira writes one for each label and each comment) is read each time. A ticket becomes outages, or
repairs where it does not say from when to when a node was out.

The node stands in a column of its own, as a name or a host list; else names with a letter and a
digit count that the fleet has, in title, tags and text. A ticket that names several tells of each.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from functools import cache, cached_property
from importlib.resources import files
from typing import Final

from triage.domain.hosts import is_host_name
from triage.domain.patterns import compile_re
from triage.fleet.domain.cause import (
    OutageCause,
    RepairAction,
    classify_outage_cause,
    classify_repair_action,
)
from triage.fleet.domain.exposure import NodeRepair, Outage
from triage.fleet.parsers.rows import (
    MAX_REASON,
    NOTHING,
    Columns,
    Options,
    Passed,
    Row,
    RowError,
    TableReader,
    cluster_in,
    normalize_column_name,
    parse_host_list,
    parse_row_time,
    remove_names,
    shorten_foreign_text,
)


class Column(StrEnum):
    """What a column of a ticket tells."""

    KEY = "key"
    BEGIN = "begin"
    END = "end"
    TITLE = "title"
    BODY = "body"
    DONE = "done"
    CAUSE = "cause"
    NODE = "node"
    TAGS = "tags"
    CLUSTER = "cluster"


Texts = Mapping[Column, Sequence[str]]
"""What a ticket says, by column; of several the one that stands first is the one to take."""

_NO_NODE: Final = Passed("tickets that name no node")
_NOTHING_DONE: Final = Passed("tickets without begin and end that tell of no repair")
_MOST_TEXT: Final = 20_000
_MOST_NODES: Final = 64
# gpu003, gpu003.cluster.local
_NAME: Final = compile_re(r"[A-Za-z0-9][\w.-]{0,200}", re.ASCII)
_LETTER_AND_DIGIT: Final = compile_re(r"(?=.*[A-Za-z])(?=.*\d)")
# Jira's own export: 21/Nov/26 3:14 AM
_JIRA: Final = "%d/%b/%y %I:%M %p"
_NAMES_A_PART: Final = frozenset(
    {action for action in RepairAction if action.startswith("swap_")} | {RepairAction.RESEAT}
) - {RepairAction.SWAP_NODE}  # fmt: skip


class TicketReader(TableReader):
    """Claims a table with a title and a time."""

    name = "tickets"

    def __init__(self, columns: Columns, options: Options) -> None:
        super().__init__(columns, options)
        self.places = _map_ticket_columns(columns)

    @cached_property
    def known(self) -> Mapping[str, str]:
        """Each name as the fleet spells it, by its lower case; asked for with the first ticket."""
        names = sorted(self.options.nodes())
        return {name.lower(): name for name in names if _LETTER_AND_DIGIT.match(name)}

    @classmethod
    def claims(cls, columns: Columns, delimiter: str) -> bool:
        """By the names in the header."""
        found = {column for column, _ in _map_ticket_columns(columns)}
        timed = not found.isdisjoint((Column.BEGIN, Column.END))
        return delimiter not in ("", "|") and Column.TITLE in found and timed

    def iterate_rows(self, fields: Sequence[str]) -> Iterator[Row]:
        """What the ticket of a row tells. Raises :class:`RowError`."""
        texts: dict[Column, list[str]] = {}
        for column, place in self.places:
            if text := fields[place].strip():
                texts.setdefault(column, []).append(text)
        return _iterate_ticket_rows(texts, self.known, self.options)


@cache
def _load_column_map() -> Mapping[str, tuple[int, Column]]:
    """What a column of this name tells, behind its rank among those that tell the same."""
    text = files("triage.fleet.parsers").joinpath("tickets.toml").read_text("utf-8")
    return {
        normalize_column_name(name): (rank, Column(column))
        for column, names in tomllib.loads(text).items()
        for rank, name in enumerate(names)
    }


def _map_ticket_columns(columns: Columns) -> list[tuple[Column, int]]:
    """What the columns tell and where each stands, the first to take first."""
    known = _load_column_map()
    found = [(*known[key], at) for at, name in enumerate(columns.names)
             if (key := normalize_column_name(name)) in known]  # fmt: skip
    return [(column, at) for _, column, at in sorted(found)]


def _find_spelling(name: str, known: Mapping[str, str]) -> str | None:
    """A name as the fleet has it: in its case, and without a domain that it does not have."""
    return known.get(name.lower()) or known.get(name.lower().partition(".")[0])


def _iterate_ticket_rows(texts: Texts, known: Mapping[str, str], options: Options) -> Iterator[Row]:
    """The outages or repairs that a ticket tells of. Raises :class:`RowError`."""

    def first(column: Column) -> str:
        return next((text for text in texts.get(column, ()) if text.lower() not in NOTHING), "")

    begin = _parse_ticket_time(first(Column.BEGIN), "its begin", options)
    end = _parse_ticket_time(first(Column.END), "its end", options)
    if begin is not None and end is not None and end < begin:
        raise RowError(f"its end {shorten_foreign_text(first(Column.END))} is before its begin")
    nodes = _find_ticket_nodes(texts, first(Column.NODE), known)
    if not nodes:
        yield _NO_NODE
        return
    cluster = cluster_in(first(Column.CLUSTER), options)
    unnamed = {
        column: [remove_names(text[:_MOST_TEXT], nodes) for text in column_texts]
        for column, column_texts in texts.items()
    }
    action = _find_ticket_action(unnamed, closed=end is not None)
    title = first(Column.TITLE) or first(Column.BODY)
    words = " ".join(
        part for part in (first(Column.KEY), title, *texts.get(Column.DONE, ())) if part
    )
    reason = " ".join(words.split())[:MAX_REASON]
    if begin is not None and end is not None:
        cause = _find_ticket_cause(unnamed, action)
        planned = cause is OutageCause.MAINTENANCE
        for node in nodes:
            yield Outage(node, begin, end, reason, cluster, cause, action, planned)
    elif action is not None and (at := end or begin) is not None:
        for node in nodes:
            yield NodeRepair(node, at, action, reason, cluster)
    else:
        yield _NOTHING_DONE


def _find_ticket_nodes(texts: Texts, column: str, known: Mapping[str, str]) -> tuple[str, ...]:
    """The column of nodes where it is filled, else names in the text. Raises :class:`RowError`."""
    if not column:
        columns = (Column.TITLE, Column.TAGS, Column.BODY, Column.DONE)
        words = [
            match[0].rstrip(".-_")
            for name in columns
            for text in texts.get(name, ())
            for match in _NAME.finditer(text[:_MOST_TEXT])
        ]
        found = dict.fromkeys(name for one in words if (name := _find_spelling(one, known)))
        return tuple(found)[:_MOST_NODES]
    nodes = parse_host_list(column)
    if wrong := next((node for node in nodes if not is_host_name(node)), None):
        raise RowError(f"the node {shorten_foreign_text(wrong)} is no name of a host")
    return tuple(dict.fromkeys(_find_spelling(node, known) or node for node in nodes))


def _find_ticket_action(texts: Texts, *, closed: bool) -> RepairAction | None:
    """What was done; a title says what is to be done, which a closed ticket has seen done."""
    notes = [*texts.get(Column.DONE, ()), *(texts.get(Column.TITLE, ()) if closed else ())]
    actions = [action for text in notes if (action := classify_repair_action(text)) is not None]
    # "Fixed" is what a tracker calls every end; a note beside it says more.
    vague = (RepairAction.OTHER, RepairAction.NONE)
    return next((action for action in actions if action not in vague), next(iter(actions), None))


def _find_ticket_cause(texts: Texts, action: RepairAction | None) -> OutageCause:
    """A column that says it; what was swapped; title and tags; what was done; the text."""
    done, title = texts.get(Column.DONE, ()), texts.get(Column.TITLE, ())
    tags, body = texts.get(Column.TAGS, ()), texts.get(Column.BODY, ())
    sources = [texts.get(Column.CAUSE, ()), [*tags, *title], done, body]
    if action in _NAMES_A_PART:
        sources.insert(1, done)
    causes = (classify_outage_cause(*source) for source in sources if source)
    return next((one for one in causes if one is not OutageCause.UNKNOWN), OutageCause.UNKNOWN)


def _parse_ticket_time(text: str, what: str, options: Options) -> datetime | None:
    """A time as trackers write it. Raises :class:`RowError`."""
    with suppress(ValueError):
        text = datetime.strptime(text, _JIRA).isoformat()  # noqa: DTZ007 - zoned by time_in
    return parse_row_time(text, what, options)
