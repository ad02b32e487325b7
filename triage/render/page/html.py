"""HTML: an Answer as one page that needs nothing else.

The page loads nothing: no address of another place stands in it, and its policy allows
only its own style sheet and its own script. Without the script it loses a hover line.
"""

from functools import cache, partial
from types import SimpleNamespace
from typing import Final

from jinja2 import Template

from triage.domain.counts import count
from triage.domain.report import Answer
from triage.render.page.templates import CSS, POLICY, SCRIPT, make_environment
from triage.render.pictures import graph, grid, progress
from triage.render.pictures.markup import Html, draw
from triage.render.words.answer import describe_victims, format_belief, list_coverage_facts
from triage.render.words.clean import format_one_line
from triage.render.words.moments import build_timeline_rows, list_days
from triage.render.words.next_step import (
    cordon_commands,
    describe_next_step,
    list_inspection_commands,
)
from triage.render.words.ranges import condense, condense_names
from triage.render.words.stacks import order_odd_first

_DEFAULT_TOP: Final = 50
_LIST_CHARS: Final = 400
_DRAW: Final = SimpleNamespace(
    timeline=partial(draw, "timeline"),
    progress=progress.as_svg,
    progress_table=progress.as_table,
    boxes=graph.select_boxes,
    waits=graph.as_svg,
    waits_list=graph.as_list,
    legend=grid.render_grid_legend,
    grid=grid.as_svg,
    late=grid.render_late_table,
)
"""The pictures of the page and their tables, by the names that the template calls them."""


@cache
def _load_template() -> Template:
    return make_environment().get_template("report.html")


def render(answer: Answer, *, top: int | None = None) -> str:
    """One self-contained page, with a newline at the end.

    Order: verdict, next step, what was seen first, suspects with their reasons, coverage, then the
    pictures, the time line first. ``top`` is the number of suspects shown (50 when None).
    """
    job, moments = answer.job, build_timeline_rows(answer)
    sizes = ((job.world_size, "rank"), (job.num_nodes, "node"))
    text = _load_template().render(
        answer=answer,
        title=format_one_line(f"{job.job_id or 'job'}: {answer.verdict.summary}", 120),
        policy=POLICY,
        css=Html(CSS),
        script=Html(SCRIPT),
        draw=_DRAW,
        top=_DEFAULT_TOP if top is None else top,
        sizes=[count(number, noun) for number, noun in sizes if number is not None],
        step=describe_next_step(answer),
        commands=cordon_commands(answer),
        looks=list_inspection_commands(answer),
        victims=describe_victims(answer.victims, max_chars=_LIST_CHARS),
        coverage=list(list_coverage_facts(answer.coverage, max_chars=_LIST_CHARS)),
        moments=moments,
        days=list_days(moments),
        places=order_odd_first(answer),
    )
    return f"{text}\n"


# The fragment that a saved notebook still shows: no script and no style sheet, as viewers of
# notebooks remove both. What they leave alone are tables, and SVG that carries its own colours.

_MAX_SUSPECTS = 10
# With more boxes or rows than this the picture is not small.
_MAX_BOXES, _MAX_MOMENTS = 12, 12


def render_fragment(answer: Answer, *notes: str) -> str:
    """Verdict, suspects, next step and one small picture, for ``_repr_html_``.

    ``notes`` are sentences shown below the verdict.
    """
    rows = [
        (
            suspect.position,
            suspect.node or "unknown",
            condense(suspect.ranks, max_chars=40),
            suspect.category,
            format_belief(suspect.score),
            suspect.role,
            format_one_line(suspect.because[0].text, 160) if suspect.because else "",
        )
        for suspect in answer.suspects[:_MAX_SUSPECTS]
    ]
    left, step = len(answer.suspects) - len(rows), describe_next_step(answer)
    commands = (*cordon_commands(answer), *list_inspection_commands(answer))
    facts, picture = _describe_facts(answer), _render_picture(answer)
    values = (answer, facts, list(notes), rows, left, step, commands, picture)
    return str(draw("fragment", *values))


def _describe_facts(answer: Answer) -> str:
    verdict, seen = answer.verdict, answer.coverage
    of_all = "" if seen.ranks_expected is None else f" of {seen.ranks_expected:,}"
    facts = [
        str(verdict.kind),
        str(verdict.category),
        f"confidence {format_belief(verdict.confidence)}",
    ]
    facts.append(f"action {verdict.action}")
    if verdict.cordon:
        facts.append(f"cordon {condense_names(map(format_one_line, verdict.cordon), max_chars=80)}")
    seen_of = f"dumps read: {seen.dumps_read:,}{of_all}, log lines read: {seen.lines_read:,}"
    return f"{', '.join(facts)}; {seen_of}"


def _render_picture(answer: Answer) -> Html:
    """Who waits for whom; without that, the first errors beside the stop."""
    nodes, _ = graph.select_boxes(answer.waits)
    moments = build_timeline_rows(answer)
    if nodes:
        more = ".plot.waits() draws the picture."
        return (
            graph.as_svg(answer.waits) if len(nodes) <= _MAX_BOXES else draw("paragraphs", [more])
        )
    if not moments:
        return Html()
    if len(moments) <= _MAX_MOMENTS:
        return draw("timeline", moments, len(list_days(moments)) > 1)
    return draw("paragraphs", [".timeline has what happened when."])
