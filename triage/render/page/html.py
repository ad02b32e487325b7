"""HTML: an Answer as one page that needs nothing else.

The page loads nothing: no address of another place stands in it, and its policy allows
only its own style sheet and its own script. Without the script it loses a hover line.
"""

from collections.abc import Sequence

from triage.domain.report import Answer, RankState, Waits
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
from triage.render.page.stacks import stacks
from triage.render.page.style import CSS, POLICY, SCRIPT
from triage.render.pictures import graph, grid_svg, progress_svg, timeline_svg
from triage.render.pictures.markup import Html, constant, el
from triage.render.words.clean import one_line
from triage.render.words.moments import days, timeline_rows

__all__ = ["render"]

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
            stacks(answer),
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
