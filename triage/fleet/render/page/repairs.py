"""The page of repairs: who is on probation, which repair holds, how right the chances were."""

from collections.abc import Callable

from triage.fleet.render.charts.table import details, paragraphs, scrolled, section, table
from triage.fleet.render.repairs import (
    CAUSE_HEAD,
    JUDGED_HEAD,
    PROBATION_HEAD,
    REPAIR_HEAD,
    cause_rows,
    judged_rows,
    probation_rows,
    repair_rows,
    summary,
)
from triage.fleet.render.words import Wire
from triage.render.pictures.markup import Html, constant, el, join
from triage.render.words.clean import cut

_MOST: int = 100


def sentences(repairs: Wire) -> Html:
    """What the record says, in sentences."""
    return paragraphs(summary(repairs))


def as_page(repairs: Wire, named: Callable[[str], Html] | None = None) -> Html:
    """The sections below the sentences; ``named`` makes of a node's name a link."""
    nodes = repairs["probation"]
    causes, holds, right = (list(f(repairs)) for f in (cause_rows, repair_rows, judged_rows))
    return join(
        (
            section("probation", "On probation", probation(nodes, named) if nodes else None),
            section(
                "holds",
                "Which repair holds",
                table("Repairs by cause", REPAIR_HEAD, holds) if holds else None,
            ),
            section(
                "causes",
                "By cause",
                table("Returns by cause", CAUSE_HEAD, causes) if causes else None,
            ),
            section(
                "judged",
                "What was said, and what came",
                details(
                    "By tenths of what was said",
                    table("Chances said, and what came", JUDGED_HEAD, right),
                )
                if right
                else None,
            ),
            section("lacks", "What the record lacks", paragraphs(repairs["notes"]) or None),
        )
    )


def probation(rows: list[Wire], named: Callable[[str], Html] | None) -> Html:
    """One row a node, with a link to its page."""
    heads = join(
        el("th", {"scope": "col", "class": "count" if word[0] == "#" else None}, word.lstrip("#"))
        for word in PROBATION_HEAD
    )
    body = join(_row_of(cells, named) for cells in probation_rows(rows[:_MOST]))
    made = el(
        "table",
        None,
        el("caption", None, "Nodes on probation, the likeliest to fail first"),
        el("thead", None, el("tr", None, heads)),
        el("tbody", None, body),
    )
    more = len(rows) - _MOST
    left = el("p", {"class": "soft"}, f"and {more:,} more.") if more > 0 else constant("")
    return join((scrolled(made, "Nodes on probation"), left))


def _row_of(cells: tuple[str, ...], named: Callable[[str], Html] | None) -> Html:
    node = named(cells[0]) if named else cut(cells[0], 80)
    rest = join(
        el("td", {"class": "count" if head[0] == "#" else None}, cell)
        for head, cell in zip(PROBATION_HEAD[1:], cells[1:], strict=True)
    )
    return el("tr", None, el("th", {"scope": "row"}, node), rest)
