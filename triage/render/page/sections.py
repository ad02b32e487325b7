"""Sections: the parts of the HTML page that are words and tables."""

from collections.abc import Iterable, Sequence

from triage.domain.counts import count
from triage.domain.next_step import Symptom
from triage.domain.report import (
    Answer,
    Because,
    CollectiveAtFrontier,
    Coverage,
    Refused,
    Suspect,
    Victims,
)
from triage.domain.wire import format_iso_utc
from triage.render.pictures.markup import (
    Html,
    join,
    make_column_heads,
    make_element,
    make_html_table,
    trust_markup,
)
from triage.render.words.answer import (
    describe_cause,
    describe_symptom_facts,
    describe_symptom_place,
    describe_victims,
    list_coverage_facts,
    restart_text,
)
from triage.render.words.belief import format_belief
from triage.render.words.clean import format_one_line
from triage.render.words.next_step import (
    cordon_commands,
    describe_next_step,
    list_inspection_commands,
)
from triage.render.words.ranges import condense, condense_names

_DEFAULT_TOP = 50
_MAX_REASONS = 12
_MAX_COLLECTIVES = 40
_MAX_REFUSED = 100
_MAX_NOTES = 50
_LIST_CHARS = 400
_CELL_CHARS = 120

NOTHING = trust_markup("")


def render_verdict(answer: Answer) -> Html:
    """Kind, the one sentence as the page's heading, and what follows from it."""
    decided, job = answer.verdict, answer.job
    facts: list[tuple[str, str | None]] = [
        ("Cause", describe_cause(decided.category)),
        ("Confidence", _render_probability(decided.confidence)),
        ("Action", str(decided.action)),
        ("Cordon", condense_names(decided.cordon, max_chars=_LIST_CHARS)),
        ("Restart", None if answer.restart is None else restart_text(answer.restart)),
        ("Stopped at", format_iso_utc(decided.at)),
        ("Job", job.job_id),
        ("Size", ", ".join(_list_sizes(answer))),
    ]
    terms = (
        join((make_element("dt", None, name), make_element("dd", None, value)))
        for name, value in facts
        if value
    )
    return join(
        (
            make_element("span", {"class": f"kind {decided.kind}"}, str(decided.kind)),
            make_element("h1", None, decided.summary),
            make_element("dl", {"class": "facts"}, join(terms)),
        )
    )


def _list_sizes(answer: Answer) -> Iterable[str]:
    for number, noun in ((answer.job.world_size, "rank"), (answer.job.num_nodes, "node")):
        if number is not None:
            yield count(number, noun)


def _render_probability(value: float) -> Html:
    meter = make_element(
        "meter", {"min": 0, "max": 1, "value": f"{value:.2f}", "aria-hidden": "true"}
    )
    return join((f"{format_belief(value)} ", meter))


def render_suspects(ranked: Sequence[Suspect], top: int | None = None) -> Html:
    """The ranked table, each row followed by its reasons."""
    shown = ranked[: _DEFAULT_TOP if top is None else top]
    if not ranked:
        return make_section("Suspects", make_element("p", None, "None."))
    names = ("#", "Node", "Ranks", "GPU", "Cause", "Score", "Role", "Action")
    bodies = join(_render_suspect(suspect, len(names)) for suspect in shown)
    return make_section(
        "Suspects",
        make_scroll_box(
            make_element("table", {"class": "suspects"}, make_column_heads(names), bodies)
        ),
        _render_left_out(len(ranked) - len(shown), "more suspect"),
    )


def _render_suspect(suspect: Suspect, num_columns: int) -> Html:
    reasons = join(render_reason(because) for because in suspect.because[:_MAX_REASONS])
    left = _render_left_out(len(suspect.because) - _MAX_REASONS, "more reason", tag="li")
    words = (str(suspect.category), _render_probability(suspect.score))
    return make_element(
        "tbody",
        {"class": str(suspect.role)},
        make_element(
            "tr",
            None,
            make_element("td", None, str(suspect.position)),
            make_element("th", {"scope": "row"}, suspect.node or "unknown"),
            make_element("td", None, condense(suspect.ranks, max_chars=_CELL_CHARS)),
            make_element("td", None, ", ".join(suspect.gpus)),
            join(make_element("td", {"class": "short"}, word) for word in words),
            make_element("td", {"class": "short role"}, str(suspect.role)),
            make_element("td", {"class": "short"}, str(suspect.action)),
        ),
        make_element(
            "tr",
            {"class": "reasons"},
            make_element("td", {"colspan": num_columns}, make_element("ul", None, reasons, left)),
        ),
    )


def render_reason(because: Because) -> Html:
    """One reason with its place, as a list item."""
    place = because.artifact or "no artifact"
    if because.line is not None:
        place += f":{because.line}"
    after = f" {because.detector}" + (
        "" if because.at is None else f", {format_iso_utc(because.at)}"
    )
    code = make_element("code", None, place)
    return make_element(
        "li", None, because.text, " ", make_element("span", {"class": "soft"}, code, after)
    )


def render_victims(waiting: Victims) -> Html:
    """One line that names the ranks and nodes which only wait."""
    text = describe_victims(waiting, max_chars=_LIST_CHARS)
    return (
        make_element("p", None, make_element("b", None, "Victims"), ", who only wait: ", text)
        if text
        else NOTHING
    )


def render_coverage(seen: Coverage) -> Html:
    """What was read for the answer, and what was missing."""
    facts = list_coverage_facts(seen, max_chars=_LIST_CHARS)
    lines = [f"{what.capitalize()}: {how_much}" for what, how_much in facts]
    lines += [f"Note: {note}" for note in seen.notes[:_MAX_NOTES]]
    return make_section(
        "Coverage",
        make_element(
            "ul",
            None,
            join(make_element("li", None, line) for line in lines),
            _render_left_out(len(seen.notes) - _MAX_NOTES, "more note", tag="li"),
        ),
        _render_refused("Read in part", seen.partial),
        _render_refused("Not read", seen.unreadable),
    )


def _render_refused(title: str, files: Sequence[Refused]) -> Html:
    if not files:
        return NOTHING
    rows = (
        make_element(
            "tr",
            None,
            make_element("th", {"scope": "row", "class": "mono"}, file.artifact),
            make_element("td", None, file.why),
        )
        for file in files[:_MAX_REFUSED]
    )
    return join(
        (
            make_html_table(("File", "Why"), rows, caption=f"{title} ({len(files):,})"),
            _render_left_out(len(files) - _MAX_REFUSED, "more file"),
        )
    )


def render_next_steps(answer: Answer) -> Html:
    """The next step, and commands to paste: to take nodes out, and to look at others."""
    harmless = list_inspection_commands(answer)
    return make_section(
        "Next step",
        make_element("p", None, describe_next_step(answer)),
        _render_commands(cordon_commands(answer)),
        make_element("p", {"class": "soft"}, "To look, without changing anything:")
        if harmless
        else NOTHING,
        _render_commands(harmless),
    )


def render_symptoms(seen: Sequence[Symptom]) -> Html:
    """What was seen first where no cause is known, each with the line that says it."""
    if not seen:
        return NOTHING
    return make_section("Seen first", make_element("ul", None, join(map(_render_symptom, seen))))


def _render_symptom(one: Symptom) -> Html:
    facts, place = describe_symptom_facts(one), describe_symptom_place(one)
    return make_element(
        "li",
        None,
        join((make_element("b", None, facts), ": ")) if facts else NOTHING,
        format_one_line(one.text, 400),
        join((" ", make_element("code", {"class": "soft"}, place))) if place else NOTHING,
    )


def _render_commands(lines: Sequence[str]) -> Html:
    if not lines:
        return NOTHING
    return make_element(
        "pre", {"tabindex": 0}, join((make_element("span", None, line) for line in lines), "\n")
    )


def render_collectives(stuck: Sequence[CollectiveAtFrontier]) -> Html:
    """The collectives in question, a row each."""
    if not stuck:
        return NOTHING
    names = ("Group", "Collective", "Missing", "Mismatched", "Waiting")
    return make_section(
        "Collectives in question",
        make_scroll_box(make_html_table(names, map(_render_collective, stuck[:_MAX_COLLECTIVES]))),
        _render_left_out(len(stuck) - _MAX_COLLECTIVES, "more collective"),
    )


def _render_collective(collective: CollectiveAtFrontier) -> Html:
    group = collective.desc or f"group {collective.pg}"
    if collective.desc and collective.pg and collective.pg != collective.desc:
        group += f" ({collective.pg})"
    members = (collective.missing, collective.mismatched, collective.waiting)
    return make_element(
        "tr",
        None,
        make_element("th", {"scope": "row"}, group),
        make_element("td", None, f"{collective.op} #{collective.seq_id}"),
        join(
            make_element("td", {"class": "mono"}, condense(ranks, max_chars=_CELL_CHARS))
            for ranks in members
        ),
    )


def make_section(title: str, *children: str) -> Html:
    """A part of the page below its heading."""
    return make_element("section", None, make_element("h2", None, title), *children)


def make_scroll_box(content: Html, *, by_keyboard: bool = False) -> Html:
    """A box that scrolls sideways; ``by_keyboard`` where nothing in it takes the focus."""
    return make_element("div", {"class": "scroll", "tabindex": 0 if by_keyboard else None}, content)


def _render_left_out(number: int, noun: str, *, tag: str = "p") -> Html:
    if number <= 0:
        return NOTHING
    return make_element(
        tag, {"class": "soft"}, f"and {count(number, noun)}; the JSON has all of them."
    )
