"""Text: an Answer for people on a terminal, the answer first.

Order: verdict, suspects with their reasons, time line, victims, collectives, coverage,
next step.
Plain ASCII of our own; what comes from the input is cleaned and wrapped.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from triage.domain.category import LLAMA3_ROW, Role
from triage.domain.report import (
    Answer,
    Because,
    CollectiveAtFrontier,
    Coverage,
    Refused,
    Suspect,
    iso_utc,
)
from triage.render.terminal.wrap import wrap
from triage.render.words.belief import belief
from triage.render.words.clean import cells, cut, one_line
from triage.render.words.moments import MARKS, days, doubt, lines, relative
from triage.render.words.next_step import commands, looks, next_step
from triage.render.words.ranges import condense, condense_names

__all__ = ["DEFAULT_TOP", "MAX_REASONS", "MAX_TEXT_CELLS", "Line", "cite", "painted", "render"]

DEFAULT_TOP = 10
MAX_REASONS = 6
MAX_COLLECTIVES = 5
MAX_MOMENTS = 12
MAX_REFUSED = 5
MAX_NOTES = 12
# A reason or a name longer than this is an attack or a whole log.
MAX_TEXT_CELLS = 400
# A node list of 2,048 or a rank list of 16,384 stays within three lines.
MAX_LIST_CHARS = 200

_BOLD, _DIM, _RED, _YELLOW, _GREEN = "1", "2", "1;31", "33", "1;32"
_ROLE_COLOUR = {Role.CULPRIT: _RED, Role.POSSIBLE: _YELLOW, Role.AFFECTED: ""}


class Line(NamedTuple):
    """One line of output and the SGR code it wears when colours are on."""

    text: str
    colour: str = ""


def render(answer: Answer, *, colour: bool = False, width: int = 80, top: int | None = None) -> str:
    """``answer`` in lines of at most ``width`` columns, with a newline at the end.

    ``top`` is the number of suspects shown (``DEFAULT_TOP`` when None). Escape
    sequences stand in the text only when ``colour`` is true, and then only ours.
    """
    width = max(width, 40)
    sections = (
        _verdict(answer, width),
        _suspects(answer.suspects, width, DEFAULT_TOP if top is None else top),
        _timeline(answer, width),
        _victims(answer, width),
        _collectives(answer.collectives, width),
        _coverage(answer.coverage, width),
        _next_step(answer, width),
    )
    blocks = ("\n".join(painted(line, colour) for line in lines) for lines in sections if lines)
    return "\n\n".join(blocks) + "\n"


def painted(line: Line, colour: bool) -> str:
    """``line`` with its colour, or without any."""
    if not colour or not line.colour or not line.text:
        return line.text
    return f"\x1b[{line.colour}m{line.text}\x1b[0m"


def _field(name: str, value: str, width: int) -> list[Line]:
    return [Line(text) for text in wrap(value, width, first=f"  {name:<12}")]


def _item(text: str, width: int, colour: str = "", *, first: str = "  - ") -> list[Line]:
    return [Line(one, colour) for one in wrap(text, width, first=first)]


def _verdict(answer: Answer, width: int) -> list[Line]:
    verdict, job = answer.verdict, answer.job
    tint = _GREEN if verdict.kind == "healthy" else _BOLD
    lines = [Line(text, tint) for text in wrap(_said(verdict.summary), width)]
    lines.append(Line(""))
    row = LLAMA3_ROW[verdict.category]
    category = f"{verdict.category} ({row})" if row else str(verdict.category)
    lines += _field("verdict", f"{verdict.kind}, {category}", width)
    lines += _field("confidence", belief(verdict.confidence), width)
    lines += _field("action", str(verdict.action), width)
    if verdict.cordon:
        lines += _field("cordon", _names(verdict.cordon), width)
    if verdict.at is not None:
        lines += _field("at", f"{iso_utc(verdict.at)}", width)
    facts = [_said(job.job_id)] if job.job_id else []
    facts += [_count(job.world_size, "rank")] if job.world_size is not None else []
    facts += [_count(job.num_nodes, "node")] if job.num_nodes is not None else []
    return lines + (_field("job", ", ".join(facts), width) if facts else [])


def _suspects(suspects: Sequence[Suspect], width: int, top: int) -> list[Line]:
    if not suspects:
        return [Line("Suspects", _BOLD), Line("  none")]
    lines = [Line("Suspects", _BOLD)]
    for suspect in suspects[:top]:
        lines += _suspect(suspect, width)
    if len(suspects) > top:
        lines += _item(f"and {_count(len(suspects) - top, 'more suspect')} (--top N)", width)
    return lines


def _suspect(suspect: Suspect, width: int) -> Iterator[Line]:
    facts = [] if suspect.node is None else [_said(suspect.node)]
    if suspect.ranks:
        noun = "rank" if len(suspect.ranks) == 1 else "ranks"
        facts.append(f"{noun} {condense(suspect.ranks, max_chars=MAX_LIST_CHARS)}")
    if suspect.gpus:
        facts.append(f"gpu {_said(', '.join(suspect.gpus))}")
    facts += [str(suspect.category), belief(suspect.score)]
    facts.append(f"{suspect.role} -> {suspect.action}")
    head = f"  {suspect.position}. "
    yield from _item(", ".join(facts), width, _ROLE_COLOUR[suspect.role], first=head)
    dash = " " * len(head) + "- "
    for reason in suspect.because[:MAX_REASONS]:
        yield from _item(_said(reason.text), width, first=dash)
        yield from _item(cite(reason), width, _DIM, first=" " * len(dash))
    left = len(suspect.because) - MAX_REASONS
    if left > 0:
        yield from _item(f"and {_count(left, 'more reason')} (--format json)", width, first=dash)


def cite(reason: Because) -> str:
    """Where a reason stands: ``[nodes/n3/kernel.log:812 at 2026-...; kernel.xid]``."""
    place = "no artifact" if reason.artifact is None else _said(reason.artifact)
    if reason.line is not None:
        place += f":{reason.line}"
    when = "" if reason.at is None else f" at {iso_utc(reason.at)}"
    return f"[{place}{when}; {_said(reason.detector)}]"


def _timeline(answer: Answer, width: int) -> list[Line]:
    """Moments in two lines each: when and where, then what the line says, cut to fit."""
    every = lines(answer)
    if not every:
        return []
    # Of many nodes the suspects' and the stop itself.
    first = sorted(every, key=lambda one: (one.moment.kind not in MARKS, one.role is None))
    kept = {id(one) for one in first[:MAX_MOMENTS]}
    when = days(every)
    title = f"Time line of {when[0]}, UTC" if len(when) == 1 else "Time line, UTC"
    shown = [Line(title, _BOLD)]
    for one in every:
        if id(one) not in kept:
            continue
        clock = (one.clock or "undated") if len(when) == 1 else f"{one.day} {one.clock}".strip()
        head = f"  {clock or 'undated'} {relative(one.from_stop_s):>9}  "
        said = _said(one.moment.text)
        if one.moment.kind in MARKS:
            shown += _item(said, width, _BOLD, first=head)
            continue
        facts = [cut(one_line(one.where), 60), _said(one.what), doubt(one.moment.error_s, "+/-")]
        tint = "" if one.role is None else _ROLE_COLOUR[one.role]
        shown += _item(", ".join(fact for fact in facts if fact), width, tint, first=head)
        indent = " " * cells(head)
        two_lines = cut(said, max(2 * (width - len(indent)) - 12, 12))
        shown += _item(two_lines, width, _DIM, first=indent)
    left = len(every) - len(kept)
    return shown + (
        _item(f"and {_count(left, 'more node')} (--format html)", width) if left else []
    )


def _victims(answer: Answer, width: int) -> list[Line]:
    victims = answer.victims
    if not victims.ranks and not victims.nodes:
        return []
    told = []
    if victims.ranks:
        told.append(f"{_count(len(victims.ranks), 'rank')}: {_ranks(victims.ranks)}")
    if victims.nodes:
        told.append(f"{_count(len(victims.nodes), 'node')}: {_names(victims.nodes)}")
    return [Line("Victims (they only wait)", _BOLD), *_item("; ".join(told), width)]


def _collectives(collectives: Sequence[CollectiveAtFrontier], width: int) -> list[Line]:
    if not collectives:
        return []
    lines = [Line("Collectives in question", _BOLD)]
    for one in collectives[:MAX_COLLECTIVES]:
        lines += _item(_collective(one), width)
    left = len(collectives) - MAX_COLLECTIVES
    return lines + (_item(f"and {left} more (--format json)", width) if left > 0 else [])


def _collective(one: CollectiveAtFrontier) -> str:
    name = cut(one_line(one.desc or f"group {one.pg}"), 40)
    beside = f" ({cut(one_line(one.pg), 24)})" if one.desc and one.desc != one.pg else ""
    parts = [
        f"{word} {_ranks(ranks)}"
        for word, ranks in (
            ("missing", one.missing),
            ("mismatched", one.mismatched),
            ("waiting", one.waiting),
        )
        if ranks
    ]
    return f"{name}{beside} {cut(one_line(one.op), 32)} #{one.seq_id}: {'; '.join(parts)}"


def _coverage(coverage: Coverage, width: int) -> list[Line]:
    expected = "" if coverage.ranks_expected is None else f" of {coverage.ranks_expected:,}"
    lines = [Line("Coverage", _BOLD)]
    dumps = f"{coverage.dumps_read:,}{expected}" if coverage.dumps_read or expected else "none"
    lines += _item(f"dumps read: {dumps}", width)
    if coverage.ranks_without_dump:
        lines += _item(f"ranks without dump: {_ranks(coverage.ranks_without_dump)}", width)
    if coverage.lines_read:
        missed = f"{coverage.lines_not_understood:,} not understood"
        lines += _item(f"log lines read: {coverage.lines_read:,}, {missed}", width)
    lines += _refused("partial", coverage.partial, width)
    lines += _refused("unreadable", coverage.unreadable, width)
    for note in coverage.notes[:MAX_NOTES]:
        lines += _item(f"note: {_said(note)}", width)
    left = len(coverage.notes) - MAX_NOTES
    return lines + (_item(f"and {_count(left, 'more note')}", width) if left > 0 else [])


def _refused(word: str, files: Sequence[Refused], width: int) -> Iterator[Line]:
    for one in files[:MAX_REFUSED]:
        yield from _item(f"{word}: {_said(one.artifact)}: {_said(one.why)}", width)
    left = len(files) - MAX_REFUSED
    if left > 0:
        yield from _item(f"and {left:,} more {word} (--format json)", width)


def _next_step(answer: Answer, width: int) -> list[Line]:
    lines = [Line("Next step", _BOLD), *_item(next_step(answer), width, first="  ")]
    for command in commands(answer):
        lines += (Line(text) for text in _continued(command, width))
    asked = looks(answer)
    if asked:
        lines.append(Line("  To look, without changing anything:"))
    for command in asked:
        lines += (Line(text) for text in _continued(command, width))
    return lines


def _continued(command: str, width: int) -> Iterator[str]:
    """A command that can be pasted: broken only between words, with a backslash."""
    line = "    "
    for word in command.split(" "):
        if line.strip() and cells(line) + cells(word) + 2 > width:
            yield f"{line}\\"
            line = "      "
        line += f"{word} "
    yield line.rstrip()


def _ranks(ranks: Iterable[int]) -> str:
    return condense(ranks, max_chars=MAX_LIST_CHARS)


def _names(names: Iterable[str]) -> str:
    return condense_names(map(_said, names), max_chars=MAX_LIST_CHARS)


def _said(text: str) -> str:
    return cut(one_line(text), MAX_TEXT_CELLS)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
