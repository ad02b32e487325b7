"""Text: an Answer for people on a terminal, the answer first.

Order: verdict, next step, what was seen first, suspects with their reasons, time line, victims,
collectives, coverage.
Plain ASCII of our own; what comes from the input is cleaned and wrapped.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from triage.domain.category import Role
from triage.domain.counts import count
from triage.domain.next_step import ANYWHERE, LOGIN, Symptom
from triage.domain.report import Answer, Because, CollectiveAtFrontier, Coverage, Refused, Suspect
from triage.domain.wire import format_iso_utc
from triage.render.words.answer import (
    describe_cause,
    describe_symptom_facts,
    describe_symptom_place,
    describe_victims,
    format_belief,
    list_coverage_facts,
    restart_text,
)
from triage.render.words.clean import count_cells, cut, format_one_line
from triage.render.words.moments import (
    MARKS,
    TimelineRow,
    build_timeline_rows,
    format_doubt,
    format_relative,
    list_days,
)
from triage.render.words.next_step import (
    cordon_commands,
    describe_next_step,
    format_shell_line,
    get_next_step,
)
from triage.render.words.ranges import condense, condense_names, name_ranks
from triage.render.words.stacks import stack_lines

DEFAULT_TOP = 10
MAX_REASONS = 6
_MAX_COLLECTIVES = 5
_MAX_MOMENTS = 12
_MAX_REFUSED = 5
_MAX_NOTES = 12
# A reason or a name longer than this is an attack or a whole log.
_MAX_TEXT_CELLS = 400
# A node list of 2,048 or a rank list of 16,384 stays within three lines.
_MAX_LIST_CHARS = 200

BOLD, DIM, RED = "1", "2", "1;31"
_YELLOW, _GREEN = "33", "1;32"
_ROLE_COLOUR = {Role.CULPRIT: RED, Role.POSSIBLE: _YELLOW, Role.AFFECTED: ""}


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
    victims = describe_victims(answer.victims, max_chars=_MAX_LIST_CHARS, clean=clean)
    sections = (
        _format_verdict(answer, width),
        _format_next_step(answer, width),
        _format_symptoms(answer.symptoms, width),
        _format_suspects(answer.suspects, width, DEFAULT_TOP if top is None else top),
        _format_timeline(answer, width),
        [Line("Victims (they only wait)", BOLD), *format_item(victims, width)] if victims else [],
        _format_stacks(answer, width),
        _format_collectives(answer.collectives, width),
        _format_coverage(answer.coverage, width),
    )
    return join_sections(sections, colour=colour)


def join_sections(sections: Iterable[Sequence[Line]], *, colour: bool) -> str:
    """The sections that have lines, with a blank line between two."""
    blocks = ("\n".join(paint_line(line, colour) for line in lines) for lines in sections if lines)
    return "\n\n".join(blocks) + "\n"


def paint_line(line: Line, colour: bool) -> str:
    """``line`` with its colour, or without any."""
    if not colour or not line.colour or not line.text:
        return line.text
    return f"\x1b[{line.colour}m{line.text}\x1b[0m"


def _format_field(name: str, value: str, width: int) -> list[Line]:
    return [Line(text) for text in wrap(value, width, first=f"  {name:<12}")]


def format_item(text: str, width: int, colour: str = "", *, first: str = "  - ") -> list[Line]:
    """``text`` wrapped behind ``first``, the other lines below its beginning."""
    return [Line(line, colour) for line in wrap(text, width, first=first)]


def _format_verdict(answer: Answer, width: int) -> list[Line]:
    verdict, job = answer.verdict, answer.job
    colour = _GREEN if verdict.kind == "healthy" else BOLD
    lines = format_item(clean(verdict.summary), width, colour, first="")
    lines.append(Line(""))
    lines += _format_field("verdict", f"{verdict.kind}, {describe_cause(verdict.category)}", width)
    lines += _format_field("confidence", format_belief(verdict.confidence), width)
    lines += _format_field("action", str(verdict.action), width)
    if verdict.cordon:
        nodes = condense_names(map(clean, verdict.cordon), max_chars=_MAX_LIST_CHARS)
        lines += _format_field("cordon", nodes, width)
    if answer.restart is not None:
        lines += _format_field("restart", clean(restart_text(answer.restart)), width)
    if verdict.at is not None:
        lines += _format_field("at", f"{format_iso_utc(verdict.at)}", width)
    if answer.slow_job is not None:
        lines += _format_field("slow", clean(answer.slow_job.text), width)
    facts = [clean(job.job_id)] if job.job_id else []
    facts += [count(job.world_size, "rank")] if job.world_size is not None else []
    facts += [count(job.num_nodes, "node")] if job.num_nodes is not None else []
    return lines + (_format_field("job", ", ".join(facts), width) if facts else [])


def _format_suspects(suspects: Sequence[Suspect], width: int, top: int) -> list[Line]:
    if not suspects:
        return [Line("Suspects", BOLD), Line("  none")]
    lines = [Line("Suspects", BOLD)]
    for suspect in suspects[:top]:
        lines += _format_suspect(suspect, width)
    if len(suspects) > top:
        lines += format_item(f"and {count(len(suspects) - top, 'more suspect')} (--top N)", width)
    return lines


def _format_suspect(suspect: Suspect, width: int) -> Iterator[Line]:
    facts = [] if suspect.node is None else [clean(suspect.node)]
    if suspect.ranks:
        facts.append(name_ranks(suspect.ranks, max_chars=_MAX_LIST_CHARS))
    if suspect.gpus:
        facts.append(f"gpu {clean(', '.join(suspect.gpus))}")
    facts += [str(suspect.category), format_belief(suspect.score)]
    facts.append(f"{suspect.role} -> {suspect.action}")
    head = f"  {suspect.position}. "
    yield from format_item(", ".join(facts), width, _ROLE_COLOUR[suspect.role], first=head)
    dash = " " * len(head) + "- "
    for reason in suspect.because[:MAX_REASONS]:
        yield from format_item(clean(reason.text), width, first=dash)
        yield from format_item(cite(reason), width, DIM, first=" " * len(dash))
    left = len(suspect.because) - MAX_REASONS
    if left > 0:
        yield from format_item(
            f"and {count(left, 'more reason')} (--format json)", width, first=dash
        )


def cite(reason: Because) -> str:
    """Where a reason stands: ``[nodes/n3/kernel.log:812 at 2026-...; kernel.xid]``."""
    place = "no artifact" if reason.artifact is None else clean(reason.artifact)
    if reason.line is not None:
        place += f":{reason.line}"
    when = "" if reason.at is None else f" at {format_iso_utc(reason.at)}"
    return f"[{place}{when}; {clean(reason.detector)}]"


def _format_timeline(answer: Answer, width: int) -> list[Line]:
    """Moments in two lines each: when and where, then what the line says, cut to fit."""
    rows = build_timeline_rows(answer)
    if not rows:
        return []
    # Of many nodes the suspects' and the stop itself.
    first = sorted(rows, key=lambda row: (row.moment.kind not in MARKS, row.role is None))
    kept = {id(row) for row in first[:_MAX_MOMENTS]}
    dates = list_days(rows)
    title = f"Time line of {dates[0]}, UTC" if len(dates) == 1 else "Time line, UTC"
    shown = [Line(title, BOLD)]
    for row in rows:
        if id(row) in kept:
            shown += _format_moment(row, width, with_day=len(dates) != 1)
    left = len(rows) - len(kept)
    return shown + (
        format_item(f"and {count(left, 'more node')} (--format html)", width) if left else []
    )


def _format_moment(row: TimelineRow, width: int, *, with_day: bool) -> Iterator[Line]:
    clock = f"{row.day} {row.clock}".strip() if with_day else row.clock
    head = f"  {clock or 'undated'} {format_relative(row.from_stop_s):>9}  "
    text = clean(row.moment.text)
    if row.moment.kind in MARKS:
        yield from format_item(text, width, BOLD, first=head)
        return
    facts = [
        format_one_line(row.where, 60),
        clean(row.what),
        format_doubt(row.moment.error_s, "+/-"),
    ]
    colour = "" if row.role is None else _ROLE_COLOUR[row.role]
    yield from format_item(", ".join(filter(None, facts)), width, colour, first=head)
    indent = " " * count_cells(head)
    two_lines = cut(text, max(2 * (width - len(indent)) - 12, 12))
    yield from format_item(two_lines, width, DIM, first=indent)


def _format_stacks(answer: Answer, width: int) -> list[Line]:
    """A line for each of the few places at which ranks stand."""
    lines = stack_lines(answer)
    if not lines:
        return []
    shown = (cut(clean(text), 2 * width - 12) for text in lines)
    return [Line("Stacks", BOLD), *(line for text in shown for line in format_item(text, width))]


def _format_collectives(collectives: Sequence[CollectiveAtFrontier], width: int) -> list[Line]:
    if not collectives:
        return []
    lines = [Line("Collectives in question", BOLD)]
    for collective in collectives[:_MAX_COLLECTIVES]:
        lines += format_item(_format_collective(collective), width)
    left = len(collectives) - _MAX_COLLECTIVES
    return lines + (format_item(f"and {left} more (--format json)", width) if left > 0 else [])


def _format_collective(collective: CollectiveAtFrontier) -> str:
    name = format_one_line(collective.desc or f"group {collective.pg}", 40)
    beside = (
        f" ({format_one_line(collective.pg, 24)})"
        if collective.desc and collective.desc != collective.pg
        else ""
    )
    parts = [
        f"{word} {condense(ranks, max_chars=_MAX_LIST_CHARS)}"
        for word, ranks in (
            ("missing", collective.missing),
            ("mismatched", collective.mismatched),
            ("waiting", collective.waiting),
        )
        if ranks
    ]
    return (
        f"{name}{beside} {format_one_line(collective.op, 32)} #{collective.seq_id}:"
        f" {'; '.join(parts)}"
    )


def _format_coverage(coverage: Coverage, width: int) -> list[Line]:
    lines = [Line("Coverage", BOLD)]
    for what, how_much in list_coverage_facts(coverage, max_chars=_MAX_LIST_CHARS):
        lines += format_item(f"{what}: {clean(how_much)}", width)
    lines += _format_refused("partial", coverage.partial, width)
    lines += _format_refused("unreadable", coverage.unreadable, width)
    for note in coverage.notes[:_MAX_NOTES]:
        lines += format_item(f"note: {clean(note)}", width)
    left = len(coverage.notes) - _MAX_NOTES
    return lines + (format_item(f"and {count(left, 'more note')}", width) if left > 0 else [])


def _format_refused(word: str, files: Sequence[Refused], width: int) -> Iterator[Line]:
    for file in files[:_MAX_REFUSED]:
        yield from format_item(f"{word}: {clean(file.artifact)}: {clean(file.why)}", width)
    left = len(files) - _MAX_REFUSED
    if left > 0:
        yield from format_item(f"and {left:,} more {word} (--format json)", width)


def _format_next_step(answer: Answer, width: int) -> list[Line]:
    lines = [Line("Next step", BOLD), *format_item(describe_next_step(answer), width, first="  ")]
    for command in cordon_commands(answer):
        lines += map(Line, _continue_command(command, width))
    changing = set(cordon_commands(answer))
    looks = [
        one for one in get_next_step(answer).commands if format_shell_line(one) not in changing
    ]
    if looks:
        lines.append(Line("  To look, without changing anything:"))
    for look in looks:
        if look.where in (ANYWHERE, LOGIN):
            comment = wrap(clean(look.why), width, first="    # ", rest="    # ")
            lines += [Line(text, DIM) for text in comment]
        lines += map(Line, _continue_command(format_shell_line(look), width))
    return lines


def _format_symptoms(symptoms: Sequence[Symptom], width: int) -> list[Line]:
    """What was seen first where no cause is known, each with the line that says it."""
    if not symptoms:
        return []
    lines = [Line("Seen first", BOLD)]
    for one in symptoms:
        facts, place = describe_symptom_facts(one), describe_symptom_place(one)
        lines += format_item(facts, width) if facts else []
        lines += format_item(clean(one.text), width, first="    " if facts else "  - ")
        lines += format_item(f"[{place}]", width, DIM, first="    ") if place else []
    return lines


def _continue_command(command: str, width: int) -> Iterator[str]:
    """A command that can be pasted: broken only between words, with a backslash."""
    line = "    "
    for word in command.split(" "):
        if line.strip() and count_cells(line) + count_cells(word) + 2 > width:
            yield f"{line}\\"
            line = "      "
        line += f"{word} "
    yield line.rstrip()


def clean(text: str) -> str:
    """Text of the input on one line, bounded and without what drives a terminal."""
    return format_one_line(text, _MAX_TEXT_CELLS)


# ``textwrap`` counts characters and so overruns with wide ones; it also cuts a path or a rank list
# anywhere, where a comma or a slash is the better place.
_BREAK_AFTER = ",/;:"
_MIN_ROOM = 8


def wrap(text: str, width: int, *, first: str = "", rest: str | None = None) -> list[str]:
    """``text`` in lines of at most ``width`` columns.

    The first line begins with ``first``, the others with ``rest`` (blanks of the same
    width when None). Nothing gives one line of ``first`` alone.
    """
    indent = " " * count_cells(first) if rest is None else rest
    lines, line = [], first
    empty = True
    for piece, glued in _split_pieces(
        text, max(_MIN_ROOM, width - max(count_cells(first), count_cells(indent)))
    ):
        gap = "" if empty or glued else " "
        if not empty and count_cells(line) + len(gap) + count_cells(piece) > width:
            lines.append(line)
            line, gap = indent, ""
        line += gap + piece
        empty = False
    lines.append(line)
    return [whole.rstrip() for whole in lines]


def _split_pieces(text: str, room: int) -> Iterator[tuple[str, bool]]:
    """Words in order; a word longer than ``room`` in several, the later ones glued on."""
    for word in text.split():
        rest, glued = word, False
        while count_cells(rest) > room:
            end = _place_to_break(rest, room)
            yield rest[:end], glued
            rest, glued = rest[end:], True
        yield rest, glued


def _place_to_break(word: str, room: int) -> int:
    """Index after the last comma or slash that fits, else after all that fits."""
    used, fits, good = 0, 0, 0
    for index, char in enumerate(word):
        used += count_cells(char)
        if used > room:
            break
        fits = index + 1
        if char in _BREAK_AFTER:
            good = fits
    return good if good > room // 2 else max(1, fits)
