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
from triage.domain.wire import iso_utc
from triage.render.pictures.markup import Html, column_heads, constant, el, join, table
from triage.render.words.answer import (
    cause,
    coverage_facts,
    restart_text,
    symptom_facts,
    symptom_place,
    victims_text,
)
from triage.render.words.belief import belief
from triage.render.words.clean import one_line
from triage.render.words.next_step import cordon_commands, inspection_commands, next_step
from triage.render.words.ranges import condense, condense_names

_DEFAULT_TOP = 50
_MAX_REASONS = 12
_MAX_COLLECTIVES = 40
_MAX_REFUSED = 100
_MAX_NOTES = 50
_LIST_CHARS = 400
_CELL_CHARS = 120

NOTHING = constant("")


def verdict(answer: Answer) -> Html:
    """Kind, the one sentence as the page's heading, and what follows from it."""
    decided, job = answer.verdict, answer.job
    facts: list[tuple[str, str | None]] = [
        ("Cause", cause(decided.category)),
        ("Confidence", _probability(decided.confidence)),
        ("Action", str(decided.action)),
        ("Cordon", condense_names(decided.cordon, max_chars=_LIST_CHARS)),
        ("Restart", None if answer.restart is None else restart_text(answer.restart)),
        ("Stopped at", iso_utc(decided.at)),
        ("Job", job.job_id),
        ("Size", ", ".join(_sizes(answer))),
    ]
    terms = (join((el("dt", None, name), el("dd", None, value))) for name, value in facts if value)
    return join(
        (
            el("span", {"class": f"kind {decided.kind}"}, str(decided.kind)),
            el("h1", None, decided.summary),
            el("dl", {"class": "facts"}, join(terms)),
        )
    )


def _sizes(answer: Answer) -> Iterable[str]:
    for number, noun in ((answer.job.world_size, "rank"), (answer.job.num_nodes, "node")):
        if number is not None:
            yield count(number, noun)


def _probability(value: float) -> Html:
    meter = el("meter", {"min": 0, "max": 1, "value": f"{value:.2f}", "aria-hidden": "true"})
    return join((f"{belief(value)} ", meter))


def suspects(ranked: Sequence[Suspect], top: int | None = None) -> Html:
    """The ranked table, each row followed by its reasons."""
    shown = ranked[: _DEFAULT_TOP if top is None else top]
    if not ranked:
        return section("Suspects", el("p", None, "None."))
    names = ("#", "Node", "Ranks", "GPU", "Cause", "Score", "Role", "Action")
    bodies = join(_suspect(suspect, len(names)) for suspect in shown)
    return section(
        "Suspects",
        scroll(el("table", {"class": "suspects"}, column_heads(names), bodies)),
        _left_out(len(ranked) - len(shown), "more suspect"),
    )


def _suspect(suspect: Suspect, num_columns: int) -> Html:
    reasons = join(reason(because) for because in suspect.because[:_MAX_REASONS])
    left = _left_out(len(suspect.because) - _MAX_REASONS, "more reason", tag="li")
    words = (str(suspect.category), _probability(suspect.score))
    return el(
        "tbody",
        {"class": str(suspect.role)},
        el(
            "tr",
            None,
            el("td", None, str(suspect.position)),
            el("th", {"scope": "row"}, suspect.node or "unknown"),
            el("td", None, condense(suspect.ranks, max_chars=_CELL_CHARS)),
            el("td", None, ", ".join(suspect.gpus)),
            join(el("td", {"class": "short"}, word) for word in words),
            el("td", {"class": "short role"}, str(suspect.role)),
            el("td", {"class": "short"}, str(suspect.action)),
        ),
        el(
            "tr",
            {"class": "reasons"},
            el("td", {"colspan": num_columns}, el("ul", None, reasons, left)),
        ),
    )


def reason(because: Because) -> Html:
    """One reason with its place, as a list item."""
    place = because.artifact or "no artifact"
    if because.line is not None:
        place += f":{because.line}"
    after = f" {because.detector}" + ("" if because.at is None else f", {iso_utc(because.at)}")
    code = el("code", None, place)
    return el("li", None, because.text, " ", el("span", {"class": "soft"}, code, after))


def victims(waiting: Victims) -> Html:
    """One line that names the ranks and nodes which only wait."""
    text = victims_text(waiting, max_chars=_LIST_CHARS)
    return el("p", None, el("b", None, "Victims"), ", who only wait: ", text) if text else NOTHING


def coverage(seen: Coverage) -> Html:
    """What was read for the answer, and what was missing."""
    facts = coverage_facts(seen, max_chars=_LIST_CHARS)
    lines = [f"{what.capitalize()}: {how_much}" for what, how_much in facts]
    lines += [f"Note: {note}" for note in seen.notes[:_MAX_NOTES]]
    return section(
        "Coverage",
        el(
            "ul",
            None,
            join(el("li", None, line) for line in lines),
            _left_out(len(seen.notes) - _MAX_NOTES, "more note", tag="li"),
        ),
        _refused("Read in part", seen.partial),
        _refused("Not read", seen.unreadable),
    )


def _refused(title: str, files: Sequence[Refused]) -> Html:
    if not files:
        return NOTHING
    rows = (
        el(
            "tr",
            None,
            el("th", {"scope": "row", "class": "mono"}, file.artifact),
            el("td", None, file.why),
        )
        for file in files[:_MAX_REFUSED]
    )
    return join(
        (
            table(("File", "Why"), rows, caption=f"{title} ({len(files):,})"),
            _left_out(len(files) - _MAX_REFUSED, "more file"),
        )
    )


def next_steps(answer: Answer) -> Html:
    """The next step, and commands to paste: to take nodes out, and to look at others."""
    harmless = inspection_commands(answer)
    return section(
        "Next step",
        el("p", None, next_step(answer)),
        _to_paste(cordon_commands(answer)),
        el("p", {"class": "soft"}, "To look, without changing anything:") if harmless else NOTHING,
        _to_paste(harmless),
    )


def symptoms(seen: Sequence[Symptom]) -> Html:
    """What was seen first where no cause is known, each with the line that says it."""
    if not seen:
        return NOTHING
    return section("Seen first", el("ul", None, join(map(_symptom, seen))))


def _symptom(one: Symptom) -> Html:
    facts, place = symptom_facts(one), symptom_place(one)
    return el(
        "li",
        None,
        join((el("b", None, facts), ": ")) if facts else NOTHING,
        one_line(one.text, 400),
        join((" ", el("code", {"class": "soft"}, place))) if place else NOTHING,
    )


def _to_paste(lines: Sequence[str]) -> Html:
    if not lines:
        return NOTHING
    return el("pre", {"tabindex": 0}, join((el("span", None, line) for line in lines), "\n"))


def collectives(stuck: Sequence[CollectiveAtFrontier]) -> Html:
    """The collectives in question, a row each."""
    if not stuck:
        return NOTHING
    names = ("Group", "Collective", "Missing", "Mismatched", "Waiting")
    return section(
        "Collectives in question",
        scroll(table(names, map(_collective, stuck[:_MAX_COLLECTIVES]))),
        _left_out(len(stuck) - _MAX_COLLECTIVES, "more collective"),
    )


def _collective(collective: CollectiveAtFrontier) -> Html:
    group = collective.desc or f"group {collective.pg}"
    if collective.desc and collective.pg and collective.pg != collective.desc:
        group += f" ({collective.pg})"
    members = (collective.missing, collective.mismatched, collective.waiting)
    return el(
        "tr",
        None,
        el("th", {"scope": "row"}, group),
        el("td", None, f"{collective.op} #{collective.seq_id}"),
        join(
            el("td", {"class": "mono"}, condense(ranks, max_chars=_CELL_CHARS)) for ranks in members
        ),
    )


def section(title: str, *children: str) -> Html:
    """A part of the page below its heading."""
    return el("section", None, el("h2", None, title), *children)


def scroll(content: Html, *, by_keyboard: bool = False) -> Html:
    """A box that scrolls sideways; ``by_keyboard`` where nothing in it takes the focus."""
    return el("div", {"class": "scroll", "tabindex": 0 if by_keyboard else None}, content)


def _left_out(number: int, noun: str, *, tag: str = "p") -> Html:
    if number <= 0:
        return NOTHING
    return el(tag, {"class": "soft"}, f"and {count(number, noun)}; the JSON has all of them.")
