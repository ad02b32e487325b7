"""The page of repairs: who is on probation, which repair holds, how right the chances were."""

from collections.abc import Callable

from triage.fleet.render.charts.table import (
    render_details,
    render_paragraphs,
    render_rows_table,
    render_scrolled,
    render_section,
)
from triage.fleet.render.repairs import (
    CAUSE_HEAD,
    JUDGED_HEAD,
    PROBATION_HEAD,
    REPAIR_HEAD,
    iterate_cause_rows,
    iterate_judged_rows,
    iterate_probation_rows,
    repair_rows,
    summary,
)
from triage.fleet.render.words import Wire
from triage.render.pictures.markup import Html, join, make_element, trust_markup
from triage.render.words.clean import cut

_MOST: int = 100


def render_repair_sentences(repairs: Wire) -> Html:
    """What the record says, in sentences."""
    return render_paragraphs(summary(repairs))


def render_repairs_page(repairs: Wire, named: Callable[[str], Html] | None = None) -> Html:
    """The sections below the sentences; ``named`` makes of a node's name a link."""
    nodes = repairs["probation"]
    causes, holds, right = (
        list(f(repairs)) for f in (iterate_cause_rows, repair_rows, iterate_judged_rows)
    )
    return join(
        (
            render_section(
                "probation", "On probation", render_probation(nodes, named) if nodes else None
            ),
            render_section(
                "holds",
                "Which repair holds",
                render_rows_table("Repairs by cause", REPAIR_HEAD, holds) if holds else None,
            ),
            render_section(
                "causes",
                "By cause",
                render_rows_table("Returns by cause", CAUSE_HEAD, causes) if causes else None,
            ),
            render_section(
                "judged",
                "What was said, and what came",
                render_details(
                    "By tenths of what was said",
                    render_rows_table("Chances said, and what came", JUDGED_HEAD, right),
                )
                if right
                else None,
            ),
            render_section(
                "lacks", "What the record lacks", render_paragraphs(repairs["notes"]) or None
            ),
        )
    )


def render_probation(rows: list[Wire], named: Callable[[str], Html] | None) -> Html:
    """One row a node, with a link to its page."""
    heads = join(
        make_element(
            "th", {"scope": "col", "class": "count" if word[0] == "#" else None}, word.lstrip("#")
        )
        for word in PROBATION_HEAD
    )
    body = join(_render_row(cells, named) for cells in iterate_probation_rows(rows[:_MOST]))
    made = make_element(
        "table",
        None,
        make_element("caption", None, "Nodes on probation, the likeliest to fail first"),
        make_element("thead", None, make_element("tr", None, heads)),
        make_element("tbody", None, body),
    )
    more = len(rows) - _MOST
    left = (
        make_element("p", {"class": "soft"}, f"and {more:,} more.")
        if more > 0
        else trust_markup("")
    )
    return join((render_scrolled(made, "Nodes on probation"), left))


def _render_row(cells: tuple[str, ...], named: Callable[[str], Html] | None) -> Html:
    node = named(cells[0]) if named else cut(cells[0], 80)
    rest = join(
        make_element("td", {"class": "count" if head[0] == "#" else None}, cell)
        for head, cell in zip(PROBATION_HEAD[1:], cells[1:], strict=True)
    )
    return make_element("tr", None, make_element("th", {"scope": "row"}, node), rest)
