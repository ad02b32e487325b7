"""Notebook: an Answer as a fragment that a saved notebook still shows.

No script and no style sheet: viewers of notebooks remove both. What they leave alone are
tables, and SVG that carries its own colours; without the SVG nothing is lost but the picture.
"""

from collections.abc import Sequence

from triage.domain.report import Answer, Suspect
from triage.render.pictures import graph, timeline_svg
from triage.render.pictures.markup import Html, constant, el, table
from triage.render.words.belief import belief
from triage.render.words.clean import one_line
from triage.render.words.moments import timeline_rows
from triage.render.words.next_step import cordon_commands, inspection_commands, next_step
from triage.render.words.ranges import condense, condense_names

_MAX_SUSPECTS = 10
# With more boxes or rows than this the picture is not small; `.plot` draws it.
_MAX_BOXES, _MAX_MOMENTS = 12, 12
_HEAD = ("#", "node", "ranks", "cause", "score", "role", "because")


def fragment(answer: Answer, *notes: str) -> str:
    """Verdict, suspects, next step and one small picture, for ``_repr_html_``.

    ``notes`` are sentences shown below the verdict.
    """
    shown = answer.suspects[:_MAX_SUSPECTS]
    left = len(answer.suspects) - len(shown)
    return str(
        el(
            "div",
            {"class": "triage-report"},
            el("p", None, el("b", None, answer.verdict.summary)),
            el("p", None, _facts(answer)),
            *(el("p", None, note) for note in notes),
            _suspects(shown) if shown else el("p", None, "No suspects."),
            el("p", None, f"and {left:,} more in .suspects") if left > 0 else None,
            el("p", None, el("b", None, "Next step: "), next_step(answer)),
            _to_paste((*cordon_commands(answer), *inspection_commands(answer))),
            _picture(answer),
        )
    )


def _to_paste(lines: Sequence[str]) -> Html | None:
    return el("pre", None, "\n".join(lines)) if lines else None


def html_table(head: Sequence[str], rows: Sequence[Sequence[str | None]]) -> Html:
    """A plain table; a ``str`` is foreign text and escaped."""
    return table(head, (el("tr", None, *(el("td", None, cell) for cell in row)) for row in rows))


def _facts(answer: Answer) -> str:
    verdict, seen = answer.verdict, answer.coverage
    of_all = "" if seen.ranks_expected is None else f" of {seen.ranks_expected:,}"
    facts = [str(verdict.kind), str(verdict.category), f"confidence {belief(verdict.confidence)}"]
    facts.append(f"action {verdict.action}")
    if verdict.cordon:
        facts.append(f"cordon {condense_names(map(one_line, verdict.cordon), max_chars=80)}")
    seen_of = f"dumps read: {seen.dumps_read:,}{of_all}, log lines read: {seen.lines_read:,}"
    return f"{', '.join(facts)}; {seen_of}"


def _suspects(shown: Sequence[Suspect]) -> Html:
    rows = [
        (
            str(suspect.position),
            suspect.node or "unknown",
            condense(suspect.ranks, max_chars=40),
            str(suspect.category),
            belief(suspect.score),
            str(suspect.role),
            one_line(suspect.because[0].text, 160) if suspect.because else "",
        )
        for suspect in shown
    ]
    return html_table(_HEAD, rows)


def _picture(answer: Answer) -> Html:
    """Who waits for whom; without that, the first errors beside the stop."""
    nodes, _ = graph.boxes(answer.waits)
    moments = timeline_rows(answer)
    if 0 < len(nodes) <= _MAX_BOXES:
        return graph.as_svg(answer.waits)
    if not nodes and len(moments) <= _MAX_MOMENTS:
        return timeline_svg.as_svg(moments)
    what = ".plot.waits()" if nodes else ".plot.timeline()"
    return el("p", None, f"{what} draws the picture.") if nodes or moments else constant("")
