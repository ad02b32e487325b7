"""HTML: an Answer as one page that needs nothing else.

The page loads nothing: no address of another place stands in it, and its policy allows
only its own style sheet and its own script. Without the script it loses a hover line.
"""

from collections.abc import Iterator, Sequence

from triage.domain.report import Answer, RankState, StandingRanks, Waits
from triage.render.page.sections import (
    NOTHING,
    collectives,
    coverage,
    next_steps,
    scroll,
    section,
    suspects,
    symptoms,
    verdict,
    victims,
)
from triage.render.page.style import CSS, POLICY, SCRIPT
from triage.render.pictures import graph, grid_svg, progress_svg, timeline_svg
from triage.render.pictures.markup import Html, constant, el, join, table
from triage.render.words.clean import one_line
from triage.render.words.moments import days, timeline_rows
from triage.render.words.ranges import condense, condense_names
from triage.render.words.stacks import StackTree, odd_first, place_words, stack_tree

_HINT = "Point at a square to see its rank; the table above has them all."


def render(answer: Answer, *, top: int | None = None) -> str:
    """One self-contained page, with a newline at the end.

    Order: verdict, next step, what was seen first, suspects with their reasons, coverage, then the
    pictures, the time line first.
    ``top`` is the number of suspects shown (50 when None).
    """
    title = one_line(f"{answer.job.job_id or 'job'}: {answer.verdict.summary}", 120)
    head = el(
        "head",
        None,
        el("meta", {"charset": "utf-8"}),
        el("meta", {"http-equiv": "Content-Security-Policy", "content": constant(POLICY)}),
        el("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        el("meta", {"name": "referrer", "content": "no-referrer"}),
        el("title", None, title),
        el("style", None, constant(CSS)),
    )
    body = el(
        "body",
        None,
        el(
            "main",
            None,
            el("header", None, verdict(answer)),
            next_steps(answer),
            symptoms(answer.symptoms),
            suspects(answer.suspects, top),
            victims(answer.victims),
            coverage(answer.coverage),
            _timeline(answer),
            _progress(answer),
            _waits(answer.waits),
            _ranks(answer.ranks),
            _stacks(answer),
            collectives(answer.collectives),
        ),
        el("script", None, constant(SCRIPT)),
    )
    return f"<!DOCTYPE html>\n{el('html', {'lang': 'en'}, head, body)}\n"


def _timeline(answer: Answer) -> Html:
    shown = timeline_rows(answer)
    if not shown:
        return NOTHING
    dates = days(shown)
    day = f" on {dates[0]}" if len(dates) == 1 else ""
    return section(
        "What happened when",
        el("p", {"class": "soft"}, f"The first error of each node beside the stop{day}, in UTC."),
        scroll(timeline_svg.as_svg(shown), by_keyboard=True),
        scroll(timeline_svg.as_table(shown, with_day=len(dates) > 1)),
    )


def _progress(answer: Answer) -> Html:
    picture, table = progress_svg.as_svg(answer.progress), progress_svg.as_table(answer.progress)
    if answer.progress is None or not (picture or table):
        return NOTHING
    return section(
        "How the job moved",
        el("p", {"class": "soft"}, answer.progress.said),
        scroll(picture, by_keyboard=True),
        scroll(table),
    )


def _waits(waits: Waits) -> Html:
    shown, omitted = graph.boxes(waits)
    if not shown:
        return NOTHING
    note = f"{omitted:,} smaller boxes are not drawn." if omitted else ""
    return section(
        "Who waits for whom",
        el("p", {"class": "soft"}, f"An arrow means \u201cwaits for\u201d. {note}"),
        scroll(graph.as_svg(waits), by_keyboard=True),
        el("details", None, el("summary", None, "The same as text"), graph.as_list(waits)),
    )


def _ranks(ranks: Sequence[RankState]) -> Html:
    if not ranks:
        return NOTHING
    return section(
        "Ranks",
        scroll(grid_svg.legend(ranks)),
        scroll(grid_svg.as_svg(ranks), by_keyboard=True),
        el("p", {"id": "tip", "class": "soft"}, _HINT),
        grid_svg.late_table(ranks),
    )


_CELL_CHARS = 120
_INDENT = "| "


def _stacks(answer: Answer) -> Html:
    """A row for each place, and the merged tree below it; nothing without stacks."""
    places = odd_first(answer)
    if not places:
        return NOTHING
    lines = list(_tree_lines(stack_tree(places)))
    return section(
        "Where the ranks stand",
        scroll(table(("Ranks", "How many", "Nodes", "Where"), map(_place, places))),
        el(
            "details",
            None,
            el("summary", None, "All stacks as one tree"),
            el("pre", {"tabindex": 0}, join((el("span", None, line) for line in lines), "\n")),
        ),
    )


def _place(one: StandingRanks) -> Html:
    cells = (
        f"{len(one.ranks):,}",
        condense_names(one.nodes, max_chars=_CELL_CHARS),
        place_words(one),
    )
    return el(
        "tr",
        None,
        el("th", {"scope": "row", "class": "mono"}, condense(one.ranks, max_chars=_CELL_CHARS)),
        join(el("td", None, cell) for cell in cells),
    )


def _tree_lines(root: StackTree) -> Iterator[str]:
    """``8 x main (train.py:37)``: how many ranks pass through a call, calls below it to the right.

    A call below which nothing branches stands at the same depth.
    """
    waiting = [(tree, 0) for tree in _by_size(root)]
    while waiting:
        tree, depth = waiting.pop(0)
        yield f"{_INDENT * depth}{tree.ranks:,} x {tree.call}"
        below = _by_size(tree)
        deeper = depth + (len(below) > 1 or any(one.ranks < tree.ranks for one in below))
        waiting = [(one, deeper) for one in below] + waiting


def _by_size(tree: StackTree) -> list[StackTree]:
    return sorted(tree.calls.values(), key=lambda one: (-one.ranks, one.call))
