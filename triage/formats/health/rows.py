"""Reports that a table tells how to read: lines of text, or items of JSON, as results; and lines
as blocks of values, which a function judges together.

A row of the table has a pattern, or a path of keys, and templates of what it says: ``{name}`` is a
group of the pattern or a value of the item, ``{name,other}`` the first that is not empty,
``{name|filter}`` is changed by one of :data:`FILTERS`. What stands in brackets is left out where
a value in it is empty.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, cast

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.domain.patterns import compile_re
from triage.formats.health.complaints import (
    Complaint,
    classify_complaint,
    classify_plain_words,
    find_category,
    format_gpu_part,
)
from triage.formats.health.reading import (
    BAD,
    FAIL,
    PASS,
    SKIPPED,
    WARN,
    Reading,
    check_name,
    find_text,
    is_whole,
    iterate_documents,
    iterate_items,
    iterate_lines,
    parse_zoned_time,
)

# The words of most tools; a row may give others.
STATUSES: Final = {
    "ok": PASS, "pass": PASS, "passed": PASS, "healthy": PASS, "success": PASS,
    "fail": FAIL, "failed": FAIL, "critical": FAIL, "error": FAIL,
    "warn": WARN, "warning": WARN, "unhealthy": WARN, "degraded": WARN,
    "skip": SKIPPED, "skipped": SKIPPED, "unknown": SKIPPED, "incomplete": SKIPPED,
}  # fmt: skip
_NAME_WORDS: Final = 5
FILTERS: Final[Mapping[str, Callable[[str], str]]] = {
    "number": lambda text: str(int(text)) if text.isdecimal() else text,
    "lower": str.lower,
    "spaced": lambda text: re.sub("[_-]", " ", text),
    "first": lambda text: " ".join(text.split()[:_NAME_WORDS]),
    "words": lambda text: " ".join(re.sub(r"\d+", "", text).split()[:_NAME_WORDS]),
    "gpu": lambda text: format_gpu_part(text) or "",
    "count": lambda text: f"{int(text):,}",
}
# Whose words name the part: an agent's, a person's, or a script's that words it as either.
SPEAKERS: Final[Mapping[str, Callable[[str], Complaint]]] = {
    "agent": classify_complaint,
    "person": lambda words: Complaint(find_category(words)),
    "script": classify_plain_words,
}
_PLACE: Final = compile_re(r"\{([\w.,]+)(?:\|(\w+))?\}")
_OPTIONAL: Final = compile_re(r"\[([^\[\]]*)\]|([^\[\]]+)")
_MAX_LISTED: Final = 4
_MAX_NODE: Final = 256
_MAX_DOCUMENT_LINE: Final = 64 << 10
# The host that a syslog, or a launcher, puts before what a tool prints.
_SAID_BY: Final = "said_by"
_HOST: Final = compile_re(
    r"(?:^|\s)\[?([A-Za-z][\w.-]{0,252}\d[\w.-]{0,60})\]?:?(?:\s+\w{1,40}(?:\[\d{1,8}\])?:)?\s*$"
)

_Values = Callable[[str], str]
"""The value of a name, empty for none."""


class Template:
    """One text with values in it: pieces of text and (names, filter), by parts in brackets."""

    def __init__(self, text: str) -> None:
        self.names: set[str] = set()
        self.filters: set[str] = set()
        self.parts = [
            (one[1] is not None, self.pieces(one[1] or one[2] or ""))
            for one in _OPTIONAL.finditer(text)
        ]

    def pieces(self, text: str) -> list[str | tuple[list[str], str]]:
        """What ``text`` is made of."""
        found: list[str | tuple[list[str], str]] = []
        end = 0
        for place in _PLACE.finditer(text):
            names, name_of_filter = place[1].split(","), place[2] or ""
            self.names.update(names)
            self.filters.update({name_of_filter} - {""})
            found += [text[end : place.start()], (names, name_of_filter)]
            end = place.end()
        return [*found, text[end:]]

    def fill(self, values: _Values) -> str:
        """The text with these values."""
        told = ""
        for optional, pieces in self.parts:
            part = ""
            for piece in pieces:
                if isinstance(piece, str):
                    part += piece
                    continue
                value = next((one for name in piece[0] if (one := values(name))), "")
                if optional and not value:
                    break
                part += FILTERS[piece[1]](value) if piece[1] else value
            else:
                told += part
        return told


@dataclass(frozen=True, slots=True)
class ResultSpec:
    """What one row says: its templates by key, and what they are looked up in.

    ``pick`` are values that a pattern finds in others: (their names, pattern[, what is usual]).
    ``outcomes`` are asked in order; without any, :data:`STATUSES` are known.
    The words of ``complaint`` are read as those of ``by``, one of :data:`SPEAKERS`: they name the
    category where ``category`` does not, and the GPU where ``part`` does not (of good results
    only with ``part_always``). A fault that follows from another one is as ``follows`` says: it
    warns, or fails and accuses nobody.
    """

    templates: Mapping[str, Template]
    outcomes: Sequence[tuple[re.Pattern[str], Outcome]]
    categories: Mapping[str, Category]
    complaint: Sequence[Template]
    by: str
    follows: str
    part_always: bool
    pick: Mapping[str, Sequence[str]]

    def fill(self, key: str, values: _Values) -> str:
        """The text of one key, empty where the row does not give it."""
        template = self.templates.get(key)
        return "" if template is None else template.fill(values)

    def picked(self, values: _Values) -> _Values:
        """``values`` with those that a pattern finds in one of them, else what is usual."""

        def value(name: str) -> str:
            if name not in self.pick:
                return values(name)
            sources, pattern, *usual = self.pick[name]
            found = re.search(pattern, " ".join(map(values, sources.split())))
            return found[found.lastindex or 0] if found else "".join(usual)

        return value

    def tell(self, values: _Values, line: int, reading: Reading) -> None:
        """The result of these values."""
        values = self.picked(values) if self.pick else values
        family, _, name = self.fill("check", values).partition(".")
        check = check_name(family, name)
        part = self.fill("part", values)
        if "unknown" in self.templates:
            reading.unknown(check, self.fill("unknown", values), part or None, line)
            return
        status = self.fill("outcome", values).strip()
        outcome = None if self.outcomes else STATUSES.get(status.lower())
        for pattern, meant in self.outcomes:
            if pattern.fullmatch(status) is not None:
                outcome = meant
                break
        if outcome is None:
            if "otherwise" in self.templates:
                reading.skip(line, self.fill("otherwise", values))
            else:
                reading.unknown(check, f"status {status[:40]!r}", line=line)
            return
        category = self.categories.get(self.fill("category", values), self.categories.get("*"))
        complaint = Complaint()
        if self.part_always or outcome in BAD:
            told = [SPEAKERS[self.by](words.fill(values)) for words in self.complaint]
            complaint = told[0] if told else complaint
            category = category or next((one.category for one in told if one.category), None)
            part = part or complaint.gpu or ""
        if complaint.follows and self.follows == "nobody":
            category = None
        elif complaint.follows and self.follows and outcome is FAIL:
            outcome = WARN
        at, node = self.fill("at", values), self.fill("node", values) or values(_SAID_BY)
        detail, dated = self.fill("detail", values), parse_zoned_time(at) if at else None
        reading.add(
            check, outcome, part, detail, category, line, at=dated, node=node[:_MAX_NODE] or None
        )


@dataclass(frozen=True)
class Row:
    """A sort of line. With ``keep`` its groups count for the lines below it, too; it needs the
    value ``needs`` where that is given, and counts only without the value ``unless``. What is
    ``aside`` is no line of the report.
    """

    pattern: str
    told: ResultSpec | None
    keep: bool = False
    needs: str = ""
    unless: str = ""
    aside: bool = False

    @cached_property
    def match(self) -> "Callable[[str], re.Match[str] | None]":
        """What the pattern finds: at the beginning of the line where it begins with ``^``."""
        compiled = re.compile(self.pattern.removeprefix("^"))
        return compiled.match if self.pattern.startswith("^") else compiled.search


def _find_host(before: str) -> str:
    """The host that stands before what a tool prints; empty for none."""
    found = _HOST.search(before[-400:]) if before else None
    return "" if found is None else found[1].rstrip(".:")


@dataclass(frozen=True, slots=True)
class Lines:
    """Reads lines: the first row that matches tells. ``odd`` is said of lines that none matches,
    ``silent`` where all results are skipped;
    ``end`` and ``none`` are (check, why) where the value ``ended`` is empty, or nothing is told.
    A tool that lists faults alone has (check, words) as ``clean``: it passes where it ended and
    told nothing, and needs no end where it told something.
    """

    rows: Sequence[Row]
    odd: str = ""
    silent: str = ""
    end: tuple[str, str] | None = None
    none: tuple[str, str] | None = None
    clean: tuple[str, str] | None = None

    def __call__(self, text: str, reading: Reading) -> None:
        """The results of ``text``."""
        kept: dict[str, str] = {}
        for index, line in iterate_lines(text):
            for row in self.rows:
                if (row.needs and not kept.get(row.needs)) or kept.get(row.unless):
                    continue
                if (found := row.match(line)) is None:
                    continue
                groups = {name: value.strip() for name, value in found.groupdict("").items()}
                if row.keep:
                    kept |= groups
                if not row.aside:
                    reading.saw(index)
                if row.told is not None:
                    values = {**kept, **groups, "line": line}
                    values[_SAID_BY] = _find_host(line[: found.start()])
                    row.told.tell(lambda name, known=values: known.get(name, ""), index, reading)  # type: ignore[misc]
                break
            else:
                if self.odd and line.strip():
                    reading.skip(index, self.odd)
        if self.clean is not None and (reading.results or kept.get("ended")):
            if not reading.results:
                reading.add(self.clean[0], PASS, None, self.clean[1], line=1)
        elif self.end is not None and not (kept.get("ended") and reading.results):
            reading.unknown(*self.end, line=reading.last_line)
        if self.none is not None:
            reading.none_found(*self.none)
        if self.silent and {one.outcome for one in reading.results} == {SKIPPED}:
            reading.skip(1, self.silent)


@dataclass(slots=True)
class Block:
    """What a tool printed of one part: the values of its lines by name, in their order.

    ``above`` is the block that it stands in, as a port in its adapter, which has it among its
    ``inner`` ones. ``is_whole`` is whether it has all values without which a report breaks off.
    """

    line: int
    level: int
    above: "Block | None" = None
    inner: "list[Block]" = field(default_factory=list)
    values: dict[str, list[str]] = field(default_factory=dict)
    is_whole: bool = True

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def get(self, name: str) -> str:
        """The last value of this name, empty where it has none."""
        return self.values.get(name, [""])[-1]

    def take(self, groups: Mapping[str, str]) -> None:
        """Keeps what a line says; a ``key`` also where its ``value`` is empty."""
        key = groups.get("exact") or groups.get("key", "").lower()
        if key:
            self.values.setdefault(key, []).append(groups["value"].strip())
            return
        for name, value in groups.items():
            if value:
                self.values.setdefault(name, []).append(value.strip())

    def find(self, name: str) -> str:
        """As :meth:`get`, of the block around it where it has none."""
        return self.get(name) or ("" if self.above is None else self.above.find(name))


@dataclass(frozen=True)
class BlockRow(Row):
    """A sort of line in blocks. With ``begins`` (1, or 2 for one within another) it is the first
    line of one, with ``stops`` none of the report any more, with ``keep`` what the blocks below it
    have as their first values. Groups ``key`` and ``value`` are a name, in lower case, and its
    value; ``exact`` is a name as it is printed.
    """

    begins: int = 0
    stops: bool = False


@dataclass(frozen=True, slots=True)
class Blocks:
    """Reads lines into blocks: the first row that matches a line says what it is, and ``judge``
    makes results of all blocks, which are whole where they have the values ``whole``. Lines
    before the first block and such as no row knows are left.
    """

    rows: Sequence[BlockRow]
    judge: "Callable[[Sequence[Block], Reading], None]"
    whole: Sequence[str] = ()

    def __call__(self, text: str, reading: Reading) -> None:
        """The results of ``text``."""
        blocks: list[Block] = []
        kept = Block(1, 0)
        rows = [(row.match, row) for row in self.rows]
        first = [one for one in rows if one[1].begins == 1 or one[1].keep]
        for index, line in iterate_lines(text):
            hit = _find_row(rows if blocks else first, line)
            if hit is None:
                continue
            row, found = hit
            if row.stops:
                break
            if row.begins:
                above = blocks[-1] if blocks else None
                while above is not None and above.level >= row.begins:
                    above = above.above
                known = {name: values[-1:] for name, values in kept.values.items()}
                blocks.append(Block(index, row.begins, above, values=known))
                if above is not None:
                    above.inner.append(blocks[-1])
            if found.lastindex is not None:
                (kept if row.keep else blocks[-1]).take(found.groupdict(""))
            if not row.aside:
                reading.saw(index)
        for block in blocks if self.whole else ():
            block.is_whole = all(map(block.get, self.whole))
        self.judge(blocks, reading)


def _find_row(
    rows: "Sequence[tuple[Callable[[str], re.Match[str] | None], BlockRow]]", line: str
) -> tuple[BlockRow, re.Match[str]] | None:
    """The first row that matches a line."""
    for match, row in rows:
        if (found := match(line)) is not None:
            return row, found
    return None


@dataclass(frozen=True, slots=True)
class Item:
    """A sort of item: what the keys of ``path`` lead to, one below the other, in each document.

    ``above.NAME`` is a value of what stands around it. ``has`` are values without which it is none.
    """

    path: Sequence[str]
    told: ResultSpec
    has: Sequence[str] = ()

    def values(self, levels: Sequence[Mapping[str, Any]]) -> _Values:
        """The values of an item and of what stands around it, innermost last."""

        def value(name: str) -> str:
            if name.startswith("above."):
                around = (_get_value_at(level, name[6:]) for level in reversed(levels[:-1]))
                return next((one for one in around if one), "")
            return _get_value_at(levels[-1], name)

        return value


@dataclass(frozen=True, slots=True)
class Items:
    """Reads documents of JSON: each object of the list that a document is, or itself. Where
    ``holds`` is given, one that lacks this key stands for those of its values that have it. With
    ``by_line`` each line is a document, and one that is none is an empty object.
    """

    items: Sequence[Item]
    holds: str = ""
    none: tuple[str, str] | None = None
    by_line: bool = False

    def __call__(self, text: str, reading: Reading) -> None:
        """The results of ``text``."""
        for line, document in self.documents(text, reading):
            for entry in self.entries(document):
                for item in self.items:
                    for levels in _iterate_levels_below([entry], item.path):
                        if reading.full:
                            return
                        values = item.told.picked(item.values(levels))
                        if all(map(values, item.has)):
                            item.told.tell(values, line, reading)
                        elif told := item.told.fill("otherwise", values):
                            reading.skip(line, told)
        if self.none is not None:
            reading.none_found(*self.none)

    def documents(self, text: str, reading: Reading) -> Iterator[tuple[int, Any]]:
        """The documents, with the line that results of each have."""
        if not self.by_line:
            yield from ((1, document) for document in iterate_documents(text, reading))
            return
        for index, line in iterate_lines(text, _MAX_DOCUMENT_LINE):
            if line.strip():
                found = next(iterate_documents(line, Reading(""))) if is_whole(line) else None
                yield index, found if isinstance(found, Mapping) else {}

    def entries(self, document: object) -> Iterator[Mapping[str, Any]]:
        """The objects that items are looked for in."""
        for entry in iterate_items(document):
            if not self.holds or self.holds in entry:
                yield entry
            else:
                inner = (one for one in entry.values() if isinstance(one, Mapping))
                yield from (one for one in inner if self.holds in one)


def _iterate_levels_below(
    levels: list[Mapping[str, Any]], path: Sequence[str]
) -> Iterator[list[Mapping[str, Any]]]:
    """The objects that ``path`` leads to from the last of ``levels``, each below the others."""
    if not path:
        yield levels
        return
    for one in iterate_items(levels[-1].get(path[0])):
        yield from _iterate_levels_below([*levels, one], path[1:])


def _get_value_at(level: Mapping[str, Any], name: str) -> str:
    """The text at ``name``, in which dots lead into objects; of a list its first texts."""
    *outer, last = name.split(".")
    for one in outer:
        inner = level.get(one)
        if not isinstance(inner, Mapping):
            return ""
        level = cast("Mapping[str, Any]", inner)
    value = level.get(last)
    if isinstance(value, list):
        return ", ".join([one for one in value if isinstance(one, str)][:_MAX_LISTED])
    return find_text(level, last)


@dataclass(frozen=True, slots=True)
class LinesOrItems:
    """Reads what a tool prints as lines or, where it begins with a brace, as documents of JSON."""

    lines: Lines
    items: Items

    def __call__(self, text: str, reading: Reading) -> None:
        """The results of ``text``."""
        is_object = text.lstrip("\ufeff \t\n").startswith("{")
        (self.items if is_object else self.lines)(text, reading)
