"""Explained: why each suspect stands where it stands, for people on a terminal.

The model is a sum of log-odds: every term stands on a line of its own, as words.
"""

from collections.abc import Iterable, Iterator

from triage.analysis.explain import ExplainedPlace, Explanation, Trial
from triage.analysis.joining.bounds import BOUNDS
from triage.analysis.joining.hangs_on import Dependence, Outcome, Source
from triage.analysis.waiting.case import make_timestamp
from triage.domain.wire import format_iso_utc
from triage.render.data import wire
from triage.render.terminal.text import (
    BOLD,
    DIM,
    MAX_REASONS,
    Line,
    cite,
    clean,
    format_item,
    join_sections,
)
from triage.render.words.answer import describe_cause, format_belief, restart_text
from triage.render.words.next_step import list_missing_inputs
from triage.render.words.ranges import condense_names, name_ranks

DEFAULT_TOP = 5
_SOURCES = {
    Source.DUMPS: "the dumps",
    Source.KERNEL_LOGS: "any kernel log",
    Source.JOB_LOGS: "any job log",
    Source.MEASURED: "telemetry and checks",
    Source.ROOT_WORDS: "knowing the words of its root lines",
}
# A lead below this does not show in two digits.
_NO_LEAD = 0.05


def render(
    explanation: Explanation, *, colour: bool = False, width: int = 80, top: int | None = None
) -> str:
    """``explanation`` in lines of at most ``width`` columns; ``top`` places are shown."""
    width = max(width, 40)
    sections = (
        _head(explanation, width),
        _format_places(explanation, width, DEFAULT_TOP if top is None else top),
        _format_trials(explanation, width),
        _format_hangs(explanation, width),
        _format_unread(explanation, width),
        _format_missing(explanation, width),
    )
    return join_sections(sections, colour=colour)


def render_json(explanation: Explanation, *, top: int | None = None) -> bytes:
    """What ``--format json`` prints."""
    return wire.encode(explanation.to_dict(top))


def _head(explanation: Explanation, width: int) -> list[Line]:
    verdict = explanation.verdict
    lines = [*format_item(clean(verdict.summary), width, BOLD, first=""), Line("")]
    category = describe_cause(verdict.category)
    fields = [("verdict", f"{verdict.kind}, {category}, {format_belief(verdict.confidence)}")]
    if verdict.cordon:
        fields.append(("cordon", condense_names(map(clean, verdict.cordon), max_chars=200)))
    if explanation.stop.trouble:
        start, end = (
            format_iso_utc(make_timestamp(ns))
            for ns in (explanation.stop.start_ns, explanation.stop.end_ns)
        )
        fields.append(("stopped", f"{start} ({explanation.start_known})" if start else ""))
        fields.append(("given up", f"{end} ({explanation.end_known})" if end else ""))
        if not start and not end:
            fields.append(("stopped", "nothing says when"))
    else:
        fields.append(("stopped", "nothing says that it did"))
    if explanation.restart is not None:
        fields.append(("restart", restart_text(explanation.restart)))
    if explanation.from_dumps:
        fields.append(("rests on", "the dumps alone: no line of a log names a cause"))
    for name, value in fields:
        if value:
            lines += format_item(clean(value), width, first=f"  {name:<12}")
    return lines


def _format_places(explanation: Explanation, width: int, top: int) -> list[Line]:
    if not explanation.places:
        return [Line("Nothing was weighed", BOLD), Line("  no line and no dump names a place")]
    lines = [Line("What was weighed, and why it stands where it stands", BOLD)]
    for position, place in enumerate(explanation.places[:top], start=1):
        lines += _place(position, place, explanation.bias, width)
    left = len(explanation.places) - top
    return lines + ([Line(f"  and {left:,} more (--top N)")] if left > 0 else [])


def _place(position: int, place: ExplainedPlace, bias: float, width: int) -> Iterator[Line]:
    head = f"  {position}. "
    facts = [clean(place.node)] if place.node is not None else []
    if place.ranks:
        facts.append(name_ranks(place.ranks, max_chars=60))
    if not facts:
        facts.append("no single node" if place.shared else "no line says where")
    facts += [str(place.category), f"probability {format_belief(place.belief)}"]
    yield from format_item(", ".join(facts), width, BOLD, first=head)
    indent = " " * len(head)
    if place.parts:
        yield Line(f"{indent}{bias:+6.1f}  where every place begins")
        for part in place.parts:
            yield from format_item(part.words, width, first=f"{indent}{part.log_odds:+6.1f}  ")
        yield from format_item(_sum(place), width, first=f"{indent}{place.log_odds:+6.1f}= ")
    else:
        yield from format_item(_OF_A_CLAIM, width, first=indent)
    for bound in place.bounds:
        limit = BOUNDS[bound]
        yield from format_item(f"{limit.most:.2f} at most: {limit.words}", width, first=indent)
    for reason in place.because[:MAX_REASONS]:
        yield from format_item(clean(reason.text), width, first=f"{indent}- ")
        yield from format_item(cite(reason), width, DIM, first=f"{indent}  ")
    left = len(place.because) - MAX_REASONS
    if left > 0:
        yield Line(f"{indent}- and {left:,} more (--format json)")


# A place that only dumps name is worth what its detector says.
_OF_A_CLAIM = "the dumps say so; it is worth what is left beside the causes of the same place"


def _sum(place: ExplainedPlace) -> str:
    """``log-odds, 2.1 ahead of the next: probability 0.97``."""
    beside = ", with no rival"
    if place.ahead is not None:
        away = f"{abs(place.ahead):.1f}"
        beside = f", {away} ahead of the next" if place.ahead > 0 else f", {away} behind the best"
        if abs(place.ahead) < _NO_LEAD:
            beside = ", level with its rival"
    return f"log-odds{beside}: probability {format_belief(place.belief)}"


def _group_outcomes(outcomes: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Sources by what comes out without them."""
    found: dict[str, list[str]] = {}
    for outcome, source in outcomes:
        found.setdefault(outcome, []).append(source)
    return found


def _format_trials(explanation: Explanation, width: int) -> list[Line]:
    trials = explanation.trials
    found = (
        (
            _describe_instead(one, explanation),
            "the dumps" if one.artifact is None else clean(one.artifact),
        )
        for one in trials
    )
    lines = [Line("What would change it", BOLD)] if trials else []
    for outcome, sources in _group_outcomes(found).items():
        alone = sources[0] if len(sources) == 1 else f"any one of {', '.join(sources)}"
        lines += format_item(f"without {alone}: {outcome}", width)
    return lines


def _describe_instead(trial: Trial, explanation: Explanation) -> str:
    verdict = trial.verdict
    who = "nobody is named" if trial.node is None else clean(trial.node)
    what = f"{verdict.kind}, {verdict.category}, {format_belief(verdict.confidence)}"
    if (trial.node, verdict.category) != (explanation.node, explanation.verdict.category):
        return f"{who} ({what})"
    if abs(verdict.confidence - explanation.verdict.confidence) < 0.005:
        return f"the same, {format_belief(verdict.confidence)}"
    word = "less" if verdict.confidence < explanation.verdict.confidence else "more"
    return f"the same, {word} sure ({format_belief(verdict.confidence)})"


def _format_hangs(explanation: Explanation, width: int) -> list[Line]:
    own = f"the logs of {clean(explanation.node or '')}"
    hangs = explanation.hangs_on
    found = ((_hang(one), f"without {_SOURCES.get(one.source, own)}") for one in hangs)
    lines = [Line("What the answer hangs on", BOLD)] if hangs else []
    for outcome, sources in _group_outcomes(found).items():
        lines += format_item(f"{', '.join(sources)}: {outcome}", width)
    return lines


def _hang(hang: Dependence) -> str:
    """``it stands (0.97)``, ``the place stands, as nic (0.61)``, ``it falls: ...``."""
    verdict = hang.verdict
    if hang.outcome is Outcome.STANDS:
        return f"it stands ({format_belief(verdict.confidence)})"
    if hang.outcome is Outcome.PLACE_STANDS:
        return f"the place stands, as {verdict.category} ({format_belief(verdict.confidence)})"
    who = "nobody is named"
    if hang.node is not None or hang.ranks:
        who = clean(hang.node) if hang.node is not None else f"rank {hang.ranks[0]}"
        who += " comes first" if hang.convicts else " may be looked at"
    return (
        f"it falls: {who} ({verdict.kind}, {verdict.category}, {format_belief(verdict.confidence)})"
    )


def _format_unread(explanation: Explanation, width: int) -> list[Line]:
    lines = [Line("What lines that nobody can place would change", BOLD)]
    for one in explanation.unread:
        who = "nobody is named" if one.node is None else clean(one.node)
        verdict = one.verdict
        then = f"{who} ({verdict.kind}, {verdict.category}, {format_belief(verdict.confidence)})"
        same = (explanation.node, explanation.verdict.category)
        if (one.node, verdict.category) == same:
            then = "the same"
        told = f'"{clean(one.line.text)[:_QUOTED]}", if it told {one.category}: {then}'
        lines += format_item(told, width)
        place = (
            one.line.artifact if one.line.line is None else f"{one.line.artifact}:{one.line.line}"
        )
        lines += format_item(f"[{clean(place)}]", width, DIM, first="    ")
    return lines if explanation.unread else []


_QUOTED = 120


def _format_missing(explanation: Explanation, width: int) -> list[Line]:
    wanted = list_missing_inputs(explanation.missing)
    if not wanted:
        return []
    lines = [Line("What was not there to be read", BOLD)]
    return lines + [line for text in wanted for line in format_item(text, width)]
