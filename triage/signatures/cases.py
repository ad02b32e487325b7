"""Readers that a file of signatures gives as data: a list of cases, of which the first that holds
says what the line means.

``[[reader.NAME]]`` is one case. ``when`` and ``unless`` are patterns by the text that they are
searched in, without case: a named group of the entry's pattern (``a|b`` for the first filled one,
empty where none took part), or one of :data:`PLACES`; all of ``when`` and none of ``unless`` must
be found. ``at_least`` gives the smallest number that a group may hold. What holds may ``skip`` the
line (it is none of these), go on with another reader (``read``), and give values of its own;
``more`` adds to ``also``. ``gpu``, ``peer`` and ``fields`` are texts in which ``{a|b}`` stands for
the first filled group (``{a:lower}``, ``{a:upper}``), also of a pattern that was found; a text none
of whose groups is filled is left out. ``find`` are fields that a pattern finds anywhere in the
line: its first group. ``nodes`` are the groups that name nodes. Where no case holds the line means
what its entry says.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from triage.domain.category import Category
from triage.domain.evidence import Blame, EvidenceRole, Trait
from triage.domain.patterns import compile_re
from triage.signatures.form import EntryTable
from triage.signatures.pci import normalize_bus_id
from triage.signatures.program.process_names import classify_owner
from triage.signatures.scheduler.node_names import named
from triage.signatures.signature import Read, Reading

KEYS: Final = (
    "when", "unless", "at_least", "skip", "read", "role", "category", "also", "more", "blame",
    "weak", "signature", "traits", "severity", "gpu", "peer", "fields", "find", "nodes",
)  # fmt: skip
PLACES: Final[Mapping[str, Callable[["re.Match[str]", Sequence[str]], str]]] = {
    "line": lambda match, _after: match.string,
    "from": lambda match, _after: match.string[match.start() :],
    "rest": lambda match, _after: match.string[match.end() :],
    "before": lambda match, _after: match.string[: match.start()],
    "until": lambda match, _after: match.string[: match.end()],
    "match": lambda match, _after: match[0],
    "after": lambda _match, after: "\n".join(after),
    "owner": lambda match, _after: _classify_process(match.groupdict()),
}
"""What a condition may look at besides the groups: the whole line, from the match on, behind it,
before it, as far as it goes, what the entry's pattern found, the lines behind, and whose process
the group ``task`` (or ``who``) names: job, service or unknown.
"""
_PART: Final = re.compile(r"\{([A-Z][A-Z_0-9]+)\}")
_SLOT: Final = re.compile(r"\{([a-z_0-9|]+)(?::(lower|upper))?\}")
_LETTERS: Final[Mapping[str | None, Callable[[str], str]]] = {
    None: str,
    "lower": lambda text: text.strip().lower(),
    "upper": str.upper,
}


def _classify_process(groups: Mapping[str, str | None]) -> str:
    """Whose process is named, without ``traps: `` in front of it."""
    return classify_owner((groups.get("task") or groups.get("who") or "").rsplit(": ", 1)[-1])


_Patterns = tuple[tuple[str, "re.Pattern[str]"], ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One case: its conditions, and what the line means where they hold."""

    when: _Patterns
    unless: _Patterns
    at_least: Mapping[str, float]
    skip: bool
    read: Callable[[], Read] | None
    values: Mapping[str, Any]
    more: tuple[Category, ...]
    texts: Mapping[str, str]
    find: _Patterns
    nodes: tuple[str, ...]

    def find_groups(
        self, groups: Mapping[str, str], match: "re.Match[str]", after: Sequence[str]
    ) -> Mapping[str, str] | None:
        """``groups`` of ``match``, and those of the conditions; None where a condition fails."""
        found = groups
        for place, pattern in self.when:
            one = pattern.search(_look(place, groups, match, after))
            if one is None:
                return None
            if one.re.groupindex:
                more = {name: text or "" for name, text in one.groupdict().items()}
                found = {**found, **more}
        for place, pattern in self.unless:
            if pattern.search(_look(place, groups, match, after)):
                return None
        for name, least in self.at_least.items():
            if float(groups[name]) < least:
                return None
        return found

    def make(
        self, match: "re.Match[str]", after: Sequence[str], groups: Mapping[str, str]
    ) -> Reading | None:
        """What the line means, the case's own values before those of ``read``."""
        reading = Reading() if self.read is None else self.read()(match, after)
        if self.skip or reading is None:
            return None
        fields = dict(reading.fields)
        fields.update(named(match, *self.nodes) if self.nodes else {})
        values = dict(self.values)
        if self.more:
            values["also"] = (*(reading.also or ()), *self.more)
        for name, template in self.texts.items():
            text = _fill(template, groups)
            if text is None:
                continue
            if name == "gpu":
                values[name] = normalize_bus_id(text)
            elif name == "peer":
                values[name] = text
            else:
                fields[name] = text
        for name, pattern in self.find:
            one = pattern.search(match.string)
            if one is not None:
                fields[name] = one[1]
        return replace(reading, **values, fields=fields)


def _look(
    place: str, groups: Mapping[str, str], match: "re.Match[str]", after: Sequence[str]
) -> str:
    """The text that a condition is about."""
    get = PLACES.get(place)
    if get is not None:
        return get(match, after)
    return next((groups[name] for name in place.split("|") if groups.get(name)), "")


def _fill(template: str, groups: Mapping[str, str]) -> str | None:
    """The text with its groups; None where it names groups and one of them is empty."""
    empty = False

    def get(slot: "re.Match[str]") -> str:
        nonlocal empty
        text = next((groups[name] for name in slot[1].split("|") if groups.get(name)), "")
        empty = empty or not text
        return _LETTERS[slot[2]](text)

    text = _SLOT.sub(get, template)
    return None if empty else text


def make_reader(cases: Sequence[Case]) -> Read:
    """The reader of the first case that holds."""

    def read(match: "re.Match[str]", after: Sequence[str]) -> Reading | None:
        groups = {name: text or "" for name, text in match.groupdict().items()}
        for case in cases:
            found = case.find_groups(groups, match, after)
            if found is not None:
                return case.make(match, after, found)
        return Reading()

    return read


def expand_parts(table: EntryTable, key: str, text: str, parts: Mapping[str, str]) -> str:
    """A pattern, or a part of one, with the parts that it names as ``{PART}``."""

    def get(found: "re.Match[str]") -> str:
        if found[1] not in parts:
            table.fault(key, f"{key} names the part {found[1]}, which is none")
        return parts.get(found[1], "")

    return _PART.sub(get, text)


def parse_case(
    table: EntryTable,
    parts: Mapping[str, str],
    read: Callable[[], Read] | None,
    grades: Mapping[str, str],
) -> Case:
    """One case of a file; what is wrong with it is among the faults of the file."""
    table.check_keys(KEYS)
    raw = table.raw
    values: dict[str, Any] = {
        "role": table.word("role", EvidenceRole),
        "category": table.word("category", Category),
        "blame": table.word("blame", Blame),
        "also": table.words("also", Category) if "also" in raw else None,
        "weak": table.flag("weak") if "weak" in raw else None,
        "signature": table.text("signature") if "signature" in raw else None,
        "traits": frozenset(table.words("traits", Trait)) if "traits" in raw else None,
    }
    texts = dict(raw.get("fields", {}))
    if "severity" in raw:
        if raw["severity"] not in grades:
            table.fault("severity", f"severity {raw['severity']!r} is none of {', '.join(grades)}")
        texts["severity"] = grades.get(raw["severity"], "")
    texts.update((key, raw[key]) for key in ("gpu", "peer") if key in raw)

    def compile_patterns(key: str) -> _Patterns:
        return tuple(
            (name, compile_re(expand_parts(table, key, "".join(text), parts), re.IGNORECASE))
            for name, text in raw.get(key, {}).items()
        )

    return Case(
        when=compile_patterns("when"),
        unless=compile_patterns("unless"),
        at_least=raw.get("at_least", {}),
        skip=table.flag("skip"),
        read=read,
        values={name: value for name, value in values.items() if value is not None},
        more=table.words("more", Category),
        texts=texts,
        find=compile_patterns("find"),
        nodes=table.texts("nodes"),
    )
