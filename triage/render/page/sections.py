"""Sections: the parts of the HTML page that are words and tables."""

from collections.abc import Iterable, Sequence

from triage.domain.category import LLAMA3_ROW
from triage.domain.report import (
    Answer,
    Because,
    CollectiveAtFrontier,
    Coverage,
    Refused,
    Suspect,
    Victims,
    iso_utc,
)
from triage.render.pictures.markup import Html, constant, el, join
from triage.render.words.belief import belief
from triage.render.words.next_step import commands, looks, next_step
from triage.render.words.ranges import condense, condense_names

__all__ = ["collectives", "coverage", "next_steps", "reason", "suspects", "verdict", "victims"]

DEFAULT_TOP = 50
MAX_REASONS = 12
MAX_COLLECTIVES = 40
MAX_REFUSED = 100
MAX_NOTES = 50
_LIST_CHARS = 400
_CELL_CHARS = 120

NOTHING = constant("")


def verdict(answer: Answer) -> Html:
    """Kind, the one sentence as the page's heading, and what follows from it."""
    said, job = answer.verdict, answer.job
    row = LLAMA3_ROW[said.category]
    facts: list[tuple[str, str | None]] = [
        ("Cause", f"{said.category}{f' ({row})' if row else ''}"),
        ("Confidence", _probability(said.confidence)),
        ("Action", str(said.action)),
        ("Cordon", condense_names(said.cordon, max_chars=_LIST_CHARS) or None),
        ("Stopped at", iso_utc(said.at)),
        ("Job", job.job_id),
        ("Size", ", ".join(_sizes(answer)) or None),
    ]
    terms = (join((el("dt", None, name), el("dd", None, value))) for name, value in facts if value)
    return join(
        (
            el("span", {"class": f"kind {said.kind}"}, str(said.kind)),
            el("h1", None, said.summary),
            el("dl", {"class": "facts"}, join(terms)),
        )
    )


def _sizes(answer: Answer) -> Iterable[str]:
    for number, noun in ((answer.job.world_size, "rank"), (answer.job.num_nodes, "node")):
        if number is not None:
            yield _count(number, noun)


def _probability(value: float) -> Html:
    meter = el("meter", {"min": 0, "max": 1, "value": f"{value:.2f}", "aria-hidden": "true"})
    return join((f"{belief(value)} ", meter))


def suspects(ranked: Sequence[Suspect], top: int | None = None) -> Html:
    """The ranked table, each row followed by its reasons."""
    shown = ranked[: DEFAULT_TOP if top is None else top]
    if not ranked:
        return _section("Suspects", el("p", None, "None."))
    names = ("#", "Node", "Ranks", "GPU", "Cause", "Score", "Role", "Action")
    head = join(el("th", {"scope": "col"}, name) for name in names)
    return _section(
        "Suspects",
        el(
            "div",
            {"class": "scroll"},
            el(
                "table",
                {"class": "suspects"},
                el("thead", None, el("tr", None, head)),
                join(_suspect(one, len(names)) for one in shown),
            ),
        ),
        _left_out(len(ranked) - len(shown), "more suspect"),
    )


def _suspect(one: Suspect, num_columns: int) -> Html:
    reasons = join(reason(because) for because in one.because[:MAX_REASONS])
    left = _left_out(len(one.because) - MAX_REASONS, "more reason", tag="li")
    words = (str(one.category), _probability(one.score))
    return el(
        "tbody",
        {"class": str(one.role)},
        el(
            "tr",
            None,
            el("td", None, str(one.position)),
            el("th", {"scope": "row"}, one.node or "unknown"),
            el("td", None, condense(one.ranks, max_chars=_CELL_CHARS)),
            el("td", None, ", ".join(one.gpus)),
            join(el("td", {"class": "short"}, word) for word in words),
            el("td", {"class": "short role"}, str(one.role)),
            el("td", {"class": "short"}, str(one.action)),
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
    """One line: who only waits."""
    told = []
    if waiting.ranks:
        ranks = condense(waiting.ranks, max_chars=_LIST_CHARS)
        told.append(f"{_count(len(waiting.ranks), 'rank')}: {ranks}")
    if waiting.nodes:
        nodes = condense_names(waiting.nodes, max_chars=_LIST_CHARS)
        told.append(f"{_count(len(waiting.nodes), 'node')}: {nodes}")
    if not told:
        return NOTHING
    return el("p", None, el("b", None, "Victims"), ", who only wait: ", "; ".join(told))


def coverage(seen: Coverage) -> Html:
    """What the answer rests on, and what it could not see."""
    of_all = "" if seen.ranks_expected is None else f" of {seen.ranks_expected:,}"
    dumps = f"{seen.dumps_read:,}{of_all}" if seen.dumps_read or of_all else "none"
    lines = [f"Dumps read: {dumps}"]
    if seen.ranks_without_dump:
        missing = condense(seen.ranks_without_dump, max_chars=_LIST_CHARS)
        lines.append(f"Ranks without dump: {missing}")
    if seen.lines_read:
        missed = f"{seen.lines_not_understood:,} not understood"
        lines.append(f"Log lines read: {seen.lines_read:,}, {missed}")
    lines += [f"Note: {note}" for note in seen.notes[:MAX_NOTES]]
    return _section(
        "Coverage",
        el(
            "ul",
            None,
            join(el("li", None, line) for line in lines),
            _left_out(len(seen.notes) - MAX_NOTES, "more note", tag="li"),
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
            el("th", {"scope": "row", "class": "mono"}, one.artifact),
            el("td", None, one.why),
        )
        for one in files[:MAX_REFUSED]
    )
    head = join(el("th", {"scope": "col"}, name) for name in ("File", "Why"))
    return join(
        (
            el(
                "table",
                None,
                el("caption", None, f"{title} ({len(files):,})"),
                el("thead", None, el("tr", None, head)),
                el("tbody", None, join(rows)),
            ),
            _left_out(len(files) - MAX_REFUSED, "more file"),
        )
    )


def next_steps(answer: Answer) -> Html:
    """The next step, and commands to paste: to take nodes out, and to look at others."""
    asked = looks(answer)
    return _section(
        "Next step",
        el("p", None, next_step(answer)),
        _to_paste(commands(answer)),
        el("p", {"class": "soft"}, "To look, without changing anything:") if asked else NOTHING,
        _to_paste(asked),
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
    head = join(el("th", {"scope": "col"}, name) for name in names)
    return _section(
        "Collectives in question",
        el(
            "div",
            {"class": "scroll"},
            el(
                "table",
                None,
                el("thead", None, el("tr", None, head)),
                el("tbody", None, join(map(_collective, stuck[:MAX_COLLECTIVES]))),
            ),
        ),
        _left_out(len(stuck) - MAX_COLLECTIVES, "more collective"),
    )


def _collective(one: CollectiveAtFrontier) -> Html:
    group = one.desc or f"group {one.pg}"
    if one.desc and one.pg and one.pg != one.desc:
        group += f" ({one.pg})"
    members = (one.missing, one.mismatched, one.waiting)
    return el(
        "tr",
        None,
        el("th", {"scope": "row"}, group),
        el("td", None, f"{one.op} #{one.seq_id}"),
        join(
            el("td", {"class": "mono"}, condense(ranks, max_chars=_CELL_CHARS)) for ranks in members
        ),
    )


def _section(title: str, *children: str) -> Html:
    return el("section", None, el("h2", None, title), *children)


def _left_out(number: int, noun: str, *, tag: str = "p") -> Html:
    if number <= 0:
        return NOTHING
    return el(tag, {"class": "soft"}, f"and {_count(number, noun)}; the JSON has all of them.")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
