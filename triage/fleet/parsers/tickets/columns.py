"""What the columns of a ticket are called, by tracker.

| | Jira | ServiceNow | GitHub, GitLab | a table of one's own |
|---|---|---|---|---|
| begin | Created | opened_at | created_at | from, start |
| end | Resolved, resolutiondate | resolved_at, closed_at | closed_at | to, end |
| title | Summary | short_description | title | summary |
| what was done | Resolution, Comment | close_notes | comments | action |
| node | | cmdb_ci | | node, host |
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from triage.fleet.parsers.columns import plain

__all__ = ["Column", "column_of"]


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


NAMES: Final[Mapping[Column, tuple[str, ...]]] = {
    Column.KEY: ("key", "issue key", "number", "ticket", "ticket_id", "iid", "id"),
    # The first that a ticket fills: when it was out stands above when somebody wrote it down.
    Column.BEGIN: (
        "outage_start", "work_start", "down_since", "from", "start", "started_at", "begin",
        "opened_at", "created", "created_at", "opened", "reported_at", "sys_created_on",
    ),
    Column.END: (
        "outage_end", "work_end", "up_since", "to", "end", "ended_at", "resolved",
        "resolved_at", "resolutiondate", "resolution_date", "closed", "closed_at", "completed_at",
    ),
    Column.TITLE: ("summary", "short_description", "title", "subject"),
    Column.BODY: ("description", "body", "text", "details"),
    Column.DONE: (
        "action", "repair", "close_notes", "resolution_notes", "work_notes", "resolution",
        "close_code", "resolution_code", "comment", "comments", "notes",
    ),
    Column.CAUSE: ("cause", "root_cause", "category", "subcategory"),
    Column.NODE: (
        "node", "nodes", "host", "hostname", "cmdb_ci", "configuration_item", "server", "device",
    ),
    Column.TAGS: ("component", "components", "component/s", "labels", "tags"),
    Column.CLUSTER: ("cluster",),
}  # fmt: skip
OF_NAME: Final = {plain(name): (column, n) for column, names in NAMES.items()
                  for n, name in enumerate(names)}  # fmt: skip


def column_of(name: str) -> tuple[Column, int] | None:
    """What a column tells, and how far behind it stands among those that tell it.

    >>> column_of("Short description"), column_of("Story points")
    ((<Column.TITLE: 'title'>, 1), None)
    """
    return OF_NAME.get(plain(name))
