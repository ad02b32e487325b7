"""A line without what others wrapped around it: prefixes, carriers, clocks, names of origin.

Rules are chosen by the first character, tried in order, and applied again and
again until none fits. Nothing is anchored on which tool wrote the file: real lines
stack three and more of these habits.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from triage.domain.evidence import NO_STAMP, Stamp
from triage.domain.patterns import compile_re
from triage.parsers.logs import job_prefixes, kernel_prefixes, wrapped
from triage.parsers.logs.state import Strip

_Rule = tuple["re.Pattern[str]", Callable[[Strip, "re.Match[str]"], bool]]

# More prefixes than this on one line are somebody's joke.
_MAX_STRIPS: Final = 64
_ESCAPES: Final = compile_re(
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\))?|#033\[[0-9;]{0,16}m"
)
_SPACE: Final = " \t\x00\ufeff"
_CONTROLS: Final = bytes({*range(9), *range(10, 27), *range(28, 32), 127})


def clean(raw: bytes) -> str:
    """The text of a line: no control characters, what is no UTF-8 marked as such."""
    return raw.translate(None, _CONTROLS).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Envelope:
    """The payload of a line, and what stood around it.

    ``rank`` is global. ``task`` is the label of srun or MPI, which is ``rank`` too
    where nothing better is printed; one task may be a whole node's launcher.
    ``delta_ns`` is the time since the line before, of relative dmesg prints. ``program`` is
    the syslog tag, where it was stripped. ``printed_by`` is a name that a collector put in front of
    the line: of a host, a pod or something else.
    """

    text: str
    stamp: Stamp = NO_STAMP
    node: str | None = None
    rank: int | None = None
    group_rank: int | None = None
    local_rank: int | None = None
    cuda_device: int | None = None
    pid: int | None = None
    address: str | None = None
    kernel: bool = False
    partial: bool = False
    sequence: int | None = None
    task: int | None = None
    delta_ns: int | None = None
    program: str | None = None
    printed_by: str | None = None
    rank_in_text: bool = False
    """Whether ``rank`` stands in the line itself and is no label of a task."""
    actor: str | None = None
    """The program that a launcher's prefix names."""


def _list_rules(first: str) -> tuple[_Rule, ...]:
    """All rules for lines that begin with ``first``, which stands for its like."""
    tables = (kernel_prefixes.RULES, job_prefixes.RULES, wrapped.RULES)
    return tuple(rule for table in tables for rule in table.get(first, ()))


def _dispatch() -> dict[str, tuple[_Rule, ...]]:
    table = {char: _list_rules(char) for char in '[<({|"./'}
    table |= {char: _list_rules("0") for char in "0123456789"}
    table |= {char: _list_rules("A") for char in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
    table |= {char: _list_rules("a") for char in "abcdefghijklmnopqrstuvwxyz_"}
    return table


_RULES: Final = _dispatch()
_NO_RULES: Final[tuple[_Rule, ...]] = ()


def read_envelope(line: str, *, label: "re.Pattern[str] | None" = None) -> Envelope:
    """Strip every envelope and prefix off ``line``. Never raises.

    ``label`` is what all lines of the file begin with, whatever follows it: the number of a task
    ("12: ") or a name.
    """
    if "\x1b" in line or "#033" in line:
        line = _ESCAPES.sub("", line)
    strip = Strip(line.rstrip("\r\n"))
    found = label.match(strip.line) if label is not None else None
    if found is not None:
        job_prefixes.labelled(strip, found)
    for _ in range(_MAX_STRIPS):
        if not _step(strip) and not wrapped.take_glued_bar(strip):
            break
    job_prefixes.peek(strip)
    return Envelope(
        strip.line[strip.pos :] if strip.pos else strip.line,
        strip.stamp,
        strip.node,
        strip.task if strip.rank is None else strip.rank,
        strip.group_rank,
        strip.local_rank,
        strip.cuda_device,
        strip.pid,
        strip.address,
        strip.kernel,
        strip.partial,
        strip.sequence,
        strip.task,
        strip.delta_ns,
        strip.program,
        strip.printed_by,
        strip.rank is not None,
        strip.actor,
    )


def _step(strip: Strip) -> bool:
    """Apply the first rule that fits; False at the payload."""
    line, start = strip.line, strip.pos
    length = len(line)
    pos = start
    while pos < length and line[pos] in _SPACE:
        pos += 1
    if pos == length:
        return False
    for pattern, rule in _RULES.get(line[pos], _NO_RULES):
        match = pattern.match(line, pos)
        if match is None:
            continue
        strip.pos = pos
        if rule(strip, match):
            if strip.line is line and strip.pos == pos:
                strip.pos = match.end()
            if strip.line is not line or strip.pos > pos:
                return True
        strip.pos = start
    return False


def compute_relative_stamps(lines: Iterable[str]) -> list[Stamp]:
    """The time of each line of a dmesg that prints a minute now and then, and deltas between.

    ``[Feb22 04:01]`` is a minute; ``[  +0.000844]`` is since the line before it. Lines
    that carry neither stand at the time of the line before them.
    """
    stamps: list[Stamp] = []
    last = NO_STAMP
    for line in lines:
        envelope = read_envelope(line)
        if envelope.stamp.wall_ns is not None:
            last = envelope.stamp
        elif envelope.delta_ns is not None and last.wall_ns is not None:
            last = Stamp(
                wall_ns=last.wall_ns + envelope.delta_ns,
                has_year=last.has_year,
                error_ns=last.error_ns,
            )
        stamps.append(last)
    return stamps
