"""Tables of repairs: who is on probation, which repair holds, how right the chances were.

The same rows stand on a terminal and on a page. Shares are of returns whose time is over.
"""

from collections.abc import Callable
from typing import NamedTuple

from triage.fleet.render.tables import Table, tabulate
from triage.fleet.render.words import FORMATS, Wire


class RepairTable(NamedTuple):
    """A table under its title; a page folds one that has a ``folded`` word."""

    key: str
    title: str
    table: Table | None
    folded: str = ""


def list_repair_tables(
    repairs: Wire, named: Callable[[str], str] = str, most: int = 100
) -> tuple[RepairTable, ...]:
    """Probation, repairs, causes, and chances held against what came.

    ``named`` makes of a node's name what stands in the table; ``most`` are on probation by name.
    """
    nodes = [
        {
            **row,
            "node": named(row["node"]),
            "after": FORMATS["repair_action"](row["action"])
            if row["action"]
            else FORMATS["repair_cause"](row["cause"]),
        }
        for row in repairs["probation"]
    ]
    deciles = [
        {**row, "within_days": one["within_days"]}
        for one in repairs["judged"]
        for row in one["deciles"]
    ]
    return (
        RepairTable("probation", "On probation", tabulate("probation", nodes, most=most)),
        RepairTable("holds", "Which repair holds", tabulate("holds", repairs["by_repair"])),
        RepairTable("causes", "By cause", tabulate("returns", repairs["by_cause"])),
        RepairTable(
            "judged",
            "What was said, and what came",
            tabulate("judged", deciles),
            "By tenths of what was said",
        ),
    )
