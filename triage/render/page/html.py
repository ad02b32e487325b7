"""HTML: an Answer as one page that needs nothing else.

The page loads nothing: no address of another place stands in it, and its policy allows
only its own style sheet and its own script. Without the script it loses a hover line.
"""

from collections.abc import Iterator, Sequence

from triage.domain.report import Answer, RankState, StandingRanks, Waits
from triage.render.page.sections import (
    NOTHING,
    make_scroll_box,
    make_section,
    render_collectives,
    render_coverage,
    render_next_steps,
    render_suspects,
    render_symptoms,
    render_verdict,
    render_victims,
)
from triage.render.page.style import CSS, POLICY, SCRIPT
from triage.render.pictures import graph, grid_svg, progress_svg, timeline_svg
from triage.render.pictures.markup import Html, join, make_element, make_html_table, trust_markup
from triage.render.words.clean import format_one_line
from triage.render.words.moments import build_timeline_rows, list_days
from triage.render.words.ranges import condense, condense_names
from triage.render.words.stacks import StackTree, order_odd_first, place_words, stack_tree

_HINT = "Point at a square to see its rank; the table above has them all."


def render(answer: Answer, *, top: int | None = None) -> str:
    """One self-contained page, with a newline at the end.

    Order: verdict, next step, what was seen first, suspects with their reasons, coverage, then the
    pictures, the time line first. ``top`` is the number of suspects shown (50 when None).
    """
    title = format_one_line(f"{answer.job.job_id or 'job'}: {answer.verdict.summary}", 120)
    head = make_element(
        "head",
        None,
        make_element("meta", {"charset": "utf-8"}),
        make_element(
            "meta", {"http-equiv": "Content-Security-Policy", "content": trust_markup(POLICY)}
        ),
        make_element(
            "meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}
        ),
        make_element("meta", {"name": "referrer", "content": "no-referrer"}),
        make_element("title", None, title),
        make_element("style", None, trust_markup(CSS)),
    )
    body = make_element(
        "body",
        None,
        make_element(
            "main",
            None,
            make_element("header", None, render_verdict(answer)),
            render_next_steps(answer),
            render_symptoms(answer.symptoms),
            render_suspects(answer.suspects, top),
            render_victims(answer.victims),
            render_coverage(answer.coverage),
            _render_timeline(answer),
            _render_progress(answer),
            _render_waits(answer.waits),
            _render_ranks(answer.ranks),
            _render_stacks(answer),
            render_collectives(answer.collectives),
        ),
        make_element("script", None, trust_markup(SCRIPT)),
    )
    return f"<!DOCTYPE html>\n{make_element('html', {'lang': 'en'}, head, body)}\n"


def _render_timeline(answer: Answer) -> Html:
    shown = build_timeline_rows(answer)
    if not shown:
        return NOTHING
    dates = list_days(shown)
    day = f" on {dates[0]}" if len(dates) == 1 else ""
    return make_section(
        "What happened when",
        make_element(
            "p", {"class": "soft"}, f"The first error of each node beside the stop{day}, in UTC."
        ),
        make_scroll_box(timeline_svg.as_svg(shown), by_keyboard=True),
        make_scroll_box(timeline_svg.as_table(shown, with_day=len(dates) > 1)),
    )


def _render_progress(answer: Answer) -> Html:
    picture, table = progress_svg.as_svg(answer.progress), progress_svg.as_table(answer.progress)
    if answer.progress is None or not (picture or table):
        return NOTHING
    return make_section(
        "How the job moved",
        make_element("p", {"class": "soft"}, answer.progress.said),
        make_scroll_box(picture, by_keyboard=True),
        make_scroll_box(table),
    )


def _render_waits(waits: Waits) -> Html:
    shown, omitted = graph.select_boxes(waits)
    if not shown:
        return NOTHING
    note = f"{omitted:,} smaller boxes are not drawn." if omitted else ""
    return make_section(
        "Who waits for whom",
        make_element("p", {"class": "soft"}, f"An arrow means \u201cwaits for\u201d. {note}"),
        make_scroll_box(graph.as_svg(waits), by_keyboard=True),
        make_element(
            "details", None, make_element("summary", None, "The same as text"), graph.as_list(waits)
        ),
    )


def _render_ranks(ranks: Sequence[RankState]) -> Html:
    if not ranks:
        return NOTHING
    return make_section(
        "Ranks",
        make_scroll_box(grid_svg.render_grid_legend(ranks)),
        make_scroll_box(grid_svg.as_svg(ranks), by_keyboard=True),
        make_element("p", {"id": "tip", "class": "soft"}, _HINT),
        grid_svg.render_late_table(ranks),
    )


_CELL_CHARS = 120
_INDENT = "| "


def _render_stacks(answer: Answer) -> Html:
    """A row for each place, and the merged tree below it; nothing without stacks."""
    places = order_odd_first(answer)
    if not places:
        return NOTHING
    lines = list(_iterate_tree_lines(stack_tree(places)))
    return make_section(
        "Where the ranks stand",
        make_scroll_box(
            make_html_table(("Ranks", "How many", "Nodes", "Where"), map(_place, places))
        ),
        make_element(
            "details",
            None,
            make_element("summary", None, "All stacks as one tree"),
            make_element(
                "pre",
                {"tabindex": 0},
                join((make_element("span", None, line) for line in lines), "\n"),
            ),
        ),
    )


def _place(one: StandingRanks) -> Html:
    cells = (
        f"{len(one.ranks):,}",
        condense_names(one.nodes, max_chars=_CELL_CHARS),
        place_words(one),
    )
    return make_element(
        "tr",
        None,
        make_element(
            "th", {"scope": "row", "class": "mono"}, condense(one.ranks, max_chars=_CELL_CHARS)
        ),
        join(make_element("td", None, cell) for cell in cells),
    )


def _iterate_tree_lines(root: StackTree) -> Iterator[str]:
    """``8 x main (train.py:37)``: how many ranks pass through a call, calls below it to the right.

    A call below which nothing branches stands at the same depth.
    """
    waiting = [(tree, 0) for tree in _order_by_size(root)]
    while waiting:
        tree, depth = waiting.pop(0)
        yield f"{_INDENT * depth}{tree.ranks:,} x {tree.call}"
        below = _order_by_size(tree)
        deeper = depth + (len(below) > 1 or any(one.ranks < tree.ranks for one in below))
        waiting = [(one, deeper) for one in below] + waiting


def _order_by_size(tree: StackTree) -> list[StackTree]:
    return sorted(tree.calls.values(), key=lambda one: (-one.ranks, one.call))
