"""A line without what others wrapped around it: prefixes, carriers, clocks, names of origin.

Rules (``prefixes.toml``) are chosen by the first character, tried in order, and applied again and
again until none fits. Nothing is anchored on which tool wrote the file: real lines
stack three and more of these habits.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from string import ascii_lowercase, ascii_uppercase
from typing import Any, Final

from triage.domain.evidence import NO_STAMP, Stamp
from triage.domain.patterns import compile_re
from triage.domain.toml_tables import read_toml
from triage.parsers.logs import prefixes, wrapped
from triage.parsers.logs.stamps import DATED, WRITTEN
from triage.parsers.logs.state import Envelope

_Rule = tuple["re.Pattern[str]", Callable[[Envelope, "re.Match[str]"], bool]]

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


# The characters that a row's own stands for; others stand for themselves.
_LIKE: Final = {"0": "0123456789", "A": ascii_uppercase, "a": f"{ascii_lowercase}_"}


def _load_rules() -> dict[str, tuple[_Rule, ...]]:
    """First character -> rules in the order in which they are tried."""
    raw = read_toml("triage.parsers.logs", "prefixes")
    parts = {"DATED": DATED, "WRITTEN": WRITTEN} | {
        name: "".join(text) for name, text in raw["parts"].items()
    }
    table: dict[str, tuple[_Rule, ...]] = {}
    for row in raw["prefix"]:
        text = _PART.sub(lambda found: parts[found[1]], "".join(row["pattern"]))
        rule = compile_re(text), _make_rule(row, text)
        for first in row["first"]:
            for char in _LIKE.get(first, first):
                table[char] = (*table.get(char, ()), rule)
    return table


def _make_rule(row: Mapping[str, Any], pattern: str) -> Callable[[Envelope, "re.Match[str]"], bool]:
    """What is taken off by a pattern: by the function that its row names, else by its groups."""
    if "take" in row:
        name = f"take_{row['take']}"
        found: Callable[[Envelope, re.Match[str]], bool] | None = getattr(wrapped, name, None)
        return found or getattr(prefixes, name)
    groups = _GROUP_NAME.findall(pattern)
    timed = "clock" in groups
    named = [(group, group.rstrip("0123456789")) for group in groups if group not in _OF_A_TIME]
    kernel, stays = row.get("kernel", False), row.get("stays", False)

    def take(envelope: Envelope, match: "re.Match[str]") -> bool:
        if timed and not prefixes.take_time(envelope, match):
            return False
        for group, name in named:
            if match[group] is not None:
                prefixes.set_field(envelope, name, match[group])
        envelope.kernel |= kernel
        return not stays

    return take


_PART: Final = re.compile(r"\{([A-Z][A-Z_]+)\}")
_GROUP_NAME: Final = re.compile(r"\(\?P<(\w+)>")
_OF_A_TIME: Final = frozenset(("month", "month_name", "day", "year", "clock", "fraction", "zone"))
_RULES: Final = _load_rules()
_NO_RULES: Final[tuple[_Rule, ...]] = ()


def read_envelope(line: str, *, label: "re.Pattern[str] | None" = None) -> Envelope:
    """Envelope every envelope and prefix off ``line``. Never raises.

    ``label`` is what all lines of the file begin with, whatever follows it: the number of a task
    ("12: ") or a name.
    """
    if "\x1b" in line or "#033" in line:
        line = _ESCAPES.sub("", line)
    envelope = Envelope(line.rstrip("\r\n"))
    found = label.match(envelope.text) if label is not None else None
    if found is not None:
        prefixes.labelled(envelope, found)
    for _ in range(_MAX_STRIPS):
        if not _step(envelope) and not wrapped.take_glued_bar(envelope):
            break
    prefixes.peek(envelope)
    envelope.finish()
    return envelope


def _step(envelope: Envelope) -> bool:
    """Apply the first rule that fits; False at the payload."""
    line, start = envelope.text, envelope.pos
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
        envelope.pos = pos
        if rule(envelope, match):
            if envelope.text is line and envelope.pos == pos:
                envelope.pos = match.end()
            if envelope.text is not line or envelope.pos > pos:
                return True
        envelope.pos = start
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
