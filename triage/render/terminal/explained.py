"""Explained: why each suspect stands where it stands, for people on a terminal.

The model is a sum of log-odds: every term stands on a line of its own, as words.
"""

from collections.abc import Iterator, Sequence

from triage.analysis.explain import Explanation, Place, Without
from triage.analysis.joining.bounds import BOUNDS
from triage.analysis.joining.hangs_on import Hang, Outcome, Source
from triage.analysis.waiting.case import timestamp
from triage.domain.category import LLAMA3_ROW
from triage.domain.report import iso_utc
from triage.render.data import wire
from triage.render.terminal.text import MAX_REASONS, MAX_TEXT_CELLS, Line, cite, painted
from triage.render.terminal.wrap import wrap
from triage.render.words.belief import belief
from triage.render.words.clean import cut, one_line
from triage.render.words.next_step import what_is_missing
from triage.render.words.ranges import condense, condense_names

__all__ = ["DEFAULT_TOP", "render", "render_json"]

DEFAULT_TOP = 5
_BOLD, _DIM = "1", "2"
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
    told: Explanation, *, colour: bool = False, width: int = 80, top: int | None = None
) -> str:
    """``told`` in lines of at most ``width`` columns; ``top`` places are shown."""
    width = max(width, 40)
    sections = (
        _head(told, width),
        _places(told, width, DEFAULT_TOP if top is None else top),
        _trials(told, width),
        _hangs(told, width),
        _missing(told, width),
    )
    blocks = ("\n".join(painted(line, colour) for line in lines) for lines in sections if lines)
    return "\n\n".join(blocks) + "\n"


def render_json(told: Explanation, *, top: int | None = None) -> bytes:
    """What ``--format json`` prints."""
    return wire.encode(told.to_dict(top))


def _head(told: Explanation, width: int) -> list[Line]:
    verdict = told.verdict
    row = LLAMA3_ROW[verdict.category]
    category = f"{verdict.category} ({row})" if row else str(verdict.category)
    lines = [Line(text, _BOLD) for text in wrap(_said(verdict.summary), width)]
    lines.append(Line(""))
    fields = [("verdict", f"{verdict.kind}, {category}, {belief(verdict.confidence)}")]
    if verdict.cordon:
        fields.append(("cordon", condense_names(map(_said, verdict.cordon), max_chars=200)))
    if told.stop.trouble:
        start, end = (iso_utc(timestamp(ns)) for ns in (told.stop.start_ns, told.stop.end_ns))
        fields.append(("stopped", f"{start} ({told.start_known})" if start else ""))
        fields.append(("given up", f"{end} ({told.end_known})" if end else ""))
        if not start and not end:
            fields.append(("stopped", "nothing says when"))
    else:
        fields.append(("stopped", "nothing says that it did"))
    if told.from_dumps:
        fields.append(("rests on", "the dumps alone: no line of a log names a cause"))
    for name, value in fields:
        if value:
            lines += (Line(text) for text in wrap(_said(value), width, first=f"  {name:<12}"))
    return lines


def _places(told: Explanation, width: int, top: int) -> list[Line]:
    if not told.places:
        return [Line("Nothing was weighed", _BOLD), Line("  no line and no dump names a place")]
    lines = [Line("What was weighed, and why it stands where it stands", _BOLD)]
    for position, one in enumerate(told.places[:top], start=1):
        lines += _place(position, one, told.bias, width)
    left = len(told.places) - top
    return lines + ([Line(f"  and {left:,} more (--top N)")] if left > 0 else [])


def _place(position: int, one: Place, bias: float, width: int) -> Iterator[Line]:
    head = f"  {position}. "
    facts = [_said(one.node)] if one.node is not None else []
    if one.ranks:
        noun = "rank" if len(one.ranks) == 1 else "ranks"
        facts.append(f"{noun} {condense(one.ranks, max_chars=60)}")
    if not facts:
        facts.append("no single node" if one.shared else "no line says where")
    facts += [str(one.category), f"probability {belief(one.belief)}"]
    yield from _item(", ".join(facts), width, head, _BOLD)
    indent = " " * len(head)
    if one.parts:
        yield Line(f"{indent}{bias:+6.1f}  where every place begins")
        for part in one.parts:
            yield from _item(part.words, width, f"{indent}{part.log_odds:+6.1f}  ")
        yield from _item(_sum(one), width, f"{indent}{one.log_odds:+6.1f}= ")
    else:
        yield from _item(_OF_A_CLAIM, width, indent)
    for bound in one.bounds:
        limit = BOUNDS[bound]
        yield from _item(f"{limit.most:.2f} at most: {limit.words}", width, indent)
    for reason in one.because[:MAX_REASONS]:
        yield from _item(_said(reason.text), width, f"{indent}- ")
        yield from _item(cite(reason), width, f"{indent}  ", _DIM)
    left = len(one.because) - MAX_REASONS
    if left > 0:
        yield Line(f"{indent}- and {left:,} more (--format json)")


# A place that only dumps name is worth what its detector says.
_OF_A_CLAIM = "the dumps say so; it is worth what is left beside the causes of the same place"


def _sum(one: Place) -> str:
    """``log-odds, 2.1 ahead of the next: probability 0.97``."""
    beside = ", with no rival"
    if one.ahead is not None:
        away = f"{abs(one.ahead):.1f}"
        beside = f", {away} ahead of the next" if one.ahead > 0 else f", {away} behind the best"
        if abs(one.ahead) < _NO_LEAD:
            beside = ", level with its rival"
    return f"log-odds{beside}: probability {belief(one.belief)}"


def _trials(told: Explanation, width: int) -> list[Line]:
    if not told.trials:
        return []
    lines = [Line("What would change it", _BOLD)]
    outcomes: dict[str, list[str]] = {}
    for one in told.trials:
        outcomes.setdefault(_instead(one, told), []).append(_source(one))
    for outcome, sources in outcomes.items():
        alone = sources[0] if len(sources) == 1 else f"any one of {', '.join(sources)}"
        lines += _item(f"without {alone}: {outcome}", width, "  - ")
    return lines


def _source(one: Without) -> str:
    return "the dumps" if one.artifact is None else _said(one.artifact)


def _instead(one: Without, told: Explanation) -> str:
    verdict = one.verdict
    who = "nobody is named" if one.node is None else _said(one.node)
    what = f"{verdict.kind}, {verdict.category}, {belief(verdict.confidence)}"
    if (one.node, verdict.category) != (told.node, told.verdict.category):
        return f"{who} ({what})"
    if abs(verdict.confidence - told.verdict.confidence) < 0.005:
        return f"the same, {belief(verdict.confidence)}"
    word = "less" if verdict.confidence < told.verdict.confidence else "more"
    return f"the same, {word} sure ({belief(verdict.confidence)})"


def _hangs(told: Explanation, width: int) -> list[Line]:
    if not told.hangs_on:
        return []
    lines = [Line("What the answer hangs on", _BOLD)]
    outcomes: dict[str, list[str]] = {}
    for one in told.hangs_on:
        source = _SOURCES.get(one.source, f"the logs of {_said(told.node or '')}")
        outcomes.setdefault(_hang(one), []).append(f"without {source}")
    for outcome, sources in outcomes.items():
        lines += _item(f"{', '.join(sources)}: {outcome}", width, "  - ")
    return lines


def _hang(one: Hang) -> str:
    """``it stands (0.97)``, ``the place stands, as nic (0.61)``, ``it falls: ...``."""
    verdict = one.verdict
    if one.outcome is Outcome.STANDS:
        return f"it stands ({belief(verdict.confidence)})"
    if one.outcome is Outcome.PLACE_STANDS:
        return f"the place stands, as {verdict.category} ({belief(verdict.confidence)})"
    who = "nobody is named"
    if one.node is not None or one.ranks:
        who = _said(one.node) if one.node is not None else f"rank {one.ranks[0]}"
        who += " comes first" if one.convicts else " may be looked at"
    return f"it falls: {who} ({verdict.kind}, {verdict.category}, {belief(verdict.confidence)})"


def _missing(told: Explanation, width: int) -> list[Line]:
    wanted = what_is_missing(told.missing)
    if not wanted:
        return []
    lines = [Line("What was not there to be read", _BOLD)]
    return lines + [line for one in wanted for line in _item(one, width, "  - ")]


def _item(text: str, width: int, first: str, colour: str = "") -> Sequence[Line]:
    return [Line(one, colour) for one in wrap(text, width, first=first)]


def _said(text: str) -> str:
    return cut(one_line(text), MAX_TEXT_CELLS)
