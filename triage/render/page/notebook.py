"""Notebook: an Answer as a fragment that a saved notebook still shows.

No script and no style sheet: viewers of notebooks remove both. What they leave alone are
tables, and SVG that carries its own colours; without the SVG nothing is lost but the picture.
"""

from collections.abc import Sequence

from triage.domain.report import Answer, Suspect
from triage.render.pictures import graph, timeline_svg
from triage.render.pictures.markup import Html, make_element, make_html_table, trust_markup
from triage.render.words.answer import format_belief
from triage.render.words.clean import format_one_line
from triage.render.words.moments import build_timeline_rows
from triage.render.words.next_step import (
    cordon_commands,
    describe_next_step,
    list_inspection_commands,
)
from triage.render.words.ranges import condense, condense_names

_MAX_SUSPECTS = 10
# With more boxes or rows than this the picture is not small; `.plot` draws it.
_MAX_BOXES, _MAX_MOMENTS = 12, 12
_HEAD = ("#", "node", "ranks", "cause", "score", "role", "because")


def render_fragment(answer: Answer, *notes: str) -> str:
    """Verdict, suspects, next step and one small picture, for ``_repr_html_``.

    ``notes`` are sentences shown below the verdict.
    """
    shown = answer.suspects[:_MAX_SUSPECTS]
    left = len(answer.suspects) - len(shown)
    return str(
        make_element(
            "div",
            {"class": "triage-report"},
            make_element("p", None, make_element("b", None, answer.verdict.summary)),
            make_element("p", None, _describe_facts(answer)),
            *(make_element("p", None, note) for note in notes),
            _render_suspects(shown) if shown else make_element("p", None, "No suspects."),
            make_element("p", None, f"and {left:,} more in .suspects") if left > 0 else None,
            make_element(
                "p", None, make_element("b", None, "Next step: "), describe_next_step(answer)
            ),
            _render_commands((*cordon_commands(answer), *list_inspection_commands(answer))),
            _render_picture(answer),
        )
    )


def _render_commands(lines: Sequence[str]) -> Html | None:
    return make_element("pre", None, "\n".join(lines)) if lines else None


def render_plain_table(head: Sequence[str], rows: Sequence[Sequence[str | None]]) -> Html:
    """A plain table; a ``str`` is foreign text and escaped."""
    return make_html_table(
        head,
        (
            make_element("tr", None, *(make_element("td", None, cell) for cell in row))
            for row in rows
        ),
    )


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


def _render_suspects(shown: Sequence[Suspect]) -> Html:
    rows = [
        (
            str(suspect.position),
            suspect.node or "unknown",
            condense(suspect.ranks, max_chars=40),
            str(suspect.category),
            format_belief(suspect.score),
            str(suspect.role),
            format_one_line(suspect.because[0].text, 160) if suspect.because else "",
        )
        for suspect in shown
    ]
    return render_plain_table(_HEAD, rows)


def _render_picture(answer: Answer) -> Html:
    """Who waits for whom; without that, the first errors beside the stop."""
    nodes, _ = graph.select_boxes(answer.waits)
    moments = build_timeline_rows(answer)
    if 0 < len(nodes) <= _MAX_BOXES:
        return graph.as_svg(answer.waits)
    if not nodes and len(moments) <= _MAX_MOMENTS:
        return timeline_svg.as_svg(moments)
    what = ".plot.waits()" if nodes else ".plot.timeline()"
    return (
        make_element("p", None, f"{what} draws the picture.")
        if nodes or moments
        else trust_markup("")
    )
