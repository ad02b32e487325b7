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

Texts = Mapping[str, Sequence[str]]
"""What a ticket says, by what its columns tell; of several the first is the one to take."""

_NO_NODE: Final = Passed("tickets that name no node")
_NOTHING_DONE: Final = Passed("tickets without begin and end that tell of no repair")
_MOST_TEXT: Final = 20_000
_MOST_NODES: Final = 64
# gpu003, gpu003.cluster.local
_NAME: Final = compile_re(r"[A-Za-z0-9][\w.-]{0,200}", re.ASCII)
_LETTER_AND_DIGIT: Final = compile_re(r"(?=.*[A-Za-z])(?=.*\d)")
# Jira's own export: 21/Nov/26 3:14 AM
_JIRA: Final = "%d/%b/%y %I:%M %p"
# Actions that say which part it was.
_OF_A_PART: Final = frozenset(
    action for action in RepairAction if action.startswith("swap_") or action is RepairAction.RESEAT
) - {RepairAction.SWAP_NODE}


class TicketReader(TableReader):
    """Claims a table with a title and a time."""

    name = "tickets"

    def __init__(self, columns: Columns, options: Options) -> None:
        super().__init__(columns, options)
        self.places = _find_ticket_columns(columns)

    @cached_property
    def known(self) -> Mapping[str, str]:
        """Each name as the fleet spells it, by its lower case; asked for with the first ticket."""
        names = sorted(self.options.nodes())
        return {name.lower(): name for name in names if _LETTER_AND_DIGIT.match(name)}

    @classmethod
    def claims(cls, columns: Columns, delimiter: str) -> bool:
        """By the names in the header."""
        found = _find_ticket_columns(columns)
        timed = found["begin"] or found["end"]
        return bool(delimiter not in ("", "|") and found["title"] and timed)

    def iterate_rows(self, fields: Sequence[str]) -> Iterator[Row]:
        """The outages or repairs that a ticket tells of. Raises :class:`RowError`."""
        texts = {
            kind: [text for at in places if (text := fields[at].strip())]
            for kind, places in self.places.items()
        }
        first = {
            kind: next((text for text in told if text.lower() not in NOTHING), "")
            for kind, told in texts.items()
        }
        begin = _parse_ticket_time(first["begin"], "its begin", self.options)
        end = _parse_ticket_time(first["end"], "its end", self.options)
        if begin is not None and end is not None and end < begin:
            raise RowError(f"its end {shorten_foreign_text(first['end'])} is before its begin")
        nodes = self._find_nodes(texts, first["node"])
        if not nodes:
            yield _NO_NODE
            return
        cluster = cluster_in(first["cluster"], self.options)
        unnamed = {
            kind: [remove_names(text[:_MOST_TEXT], nodes) for text in told]
            for kind, told in texts.items()
        }
        action = _find_ticket_action(unnamed, closed=end is not None)
        words = " ".join((first["key"], first["title"] or first["body"], *texts["done"]))
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

    def _find_nodes(self, texts: Texts, column: str) -> tuple[str, ...]:
        """The column of nodes where it is filled, else names in the text. Raises RowError."""
        if not column:
            words = (
                match[0].rstrip(".-_")
                for kind in ("title", "tags", "body", "done")
                for text in texts[kind]
                for match in _NAME.finditer(text[:_MOST_TEXT])
            )
            found = dict.fromkeys(name for one in words if (name := self._find_spelling(one)))
            return tuple(found)[:_MOST_NODES]
        nodes = parse_host_list(column)
        if wrong := next((node for node in nodes if not is_host_name(node)), None):
            raise RowError(f"the node {shorten_foreign_text(wrong)} is no name of a host")
        return tuple(dict.fromkeys(self._find_spelling(node) or node for node in nodes))

    def _find_spelling(self, name: str) -> str | None:
        """A name as the fleet has it: in its case, and without a domain that it does not have."""
        return self.known.get(name.lower()) or self.known.get(name.lower().partition(".")[0])


@cache
def _load_column_names() -> Mapping[str, Sequence[str]]:
    """What columns tell, and how they are called by trackers."""
    text = files("triage.fleet.parsers").joinpath("tickets.toml").read_text("utf-8")
    return {
        kind: [*map(normalize_column_name, names)] for kind, names in tomllib.loads(text).items()
    }


def _find_ticket_columns(columns: Columns) -> dict[str, list[int]]:
    """Where the columns stand that tell the same, the first to take first."""
    own = [normalize_column_name(name) for name in columns.names]
    return {
        kind: [at for name in names for at, one in enumerate(own) if one == name]
        for kind, names in _load_column_names().items()
    }


def _find_ticket_action(texts: Texts, *, closed: bool) -> RepairAction | None:
    """What was done; a title says what is to be done, which a closed ticket has seen done."""
    notes = [*texts["done"], *(texts["title"] if closed else ())]
    actions = [action for text in notes if (action := classify_repair_action(text)) is not None]
    # "Fixed" is what a tracker calls every end; a note beside it says more.
    vague = (RepairAction.OTHER, RepairAction.NONE)
    return next((action for action in actions if action not in vague), next(iter(actions), None))


def _find_ticket_cause(texts: Texts, action: RepairAction | None) -> OutageCause:
    """A column that says it; what was swapped; title and tags; what was done; the text."""
    done = texts["done"]
    swapped = done if action in _OF_A_PART else ()
    sources = (texts["cause"], swapped, [*texts["tags"], *texts["title"]], done, texts["body"])
    causes = (classify_outage_cause(*source) for source in sources if source)
    return next((one for one in causes if one is not OutageCause.UNKNOWN), OutageCause.UNKNOWN)


def _parse_ticket_time(text: str, what: str, options: Options) -> datetime | None:
    """A time as trackers write it. Raises :class:`RowError`."""
    with suppress(ValueError):
        text = datetime.strptime(text, _JIRA).isoformat()  # noqa: DTZ007 - zoned by time_in
    return parse_row_time(text, what, options)
