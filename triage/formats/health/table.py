"""The table of formats of checks: TOML files, each with the readers in the module beside it.

A ``[[format]]`` says how its files begin and how they are read: by ``[[format.line]]`` or
``[[format.item]]`` alone (:mod:`rows`), by ``[[format.block]]`` and the function that ``judge``
names, or by the one that ``read`` names. A ``[[tool]]`` is a row of docs/formats.md, which the
formats behind it share. What is wrong with a file is told with its line, all of it at once.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from types import ModuleType
from typing import Any, ClassVar, Final, NamedTuple

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.errors import UsageError
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.reading import Reading
from triage.formats.health.rows import (
    FILTERS,
    SPEAKERS,
    BlockRow,
    Blocks,
    Item,
    Items,
    Lines,
    LinesOrItems,
    ResultSpec,
    Row,
    Template,
)
from triage.signatures.form import EntryTable, TomlFile

_KEYS: Final = (
    "name", "tool", "words", "starts", "begins", "first_lines", "read", "log", "sent", "cut_as",
    "ends", "part", "example", "near_miss", "line", "item", "block", "judge", "whole", "odd",
    "silent", "end", "none", "clean", "holds", "by_line", "each",
    "like",
)  # fmt: skip
_TEMPLATES: Final = (
    "check", "outcome", "part", "detail", "category", "node", "at", "unknown",
    "otherwise",
)  # fmt: skip
_SAYS: Final = (
    *_TEMPLATES, "outcomes", "categories", "complaint", "by", "follows", "part_always", "pick",
)  # fmt: skip
_LINE_KEYS: Final = ("pattern", "keep", "needs", "unless", "aside", *_SAYS)
_BLOCK_KEYS: Final = ("pattern", "keep", "begins", "stops", "aside")
_ITEM_KEYS: Final = ("path", "has", *_SAYS)
_TOOL_KEYS: Final = ("id", "name", "checks", "fails", "warns")
# Whether the lines of such a file are read as a log, too: those around the report, all, or none.
_LOGS: Final = ("around", "all", "none")
_FOLLOWS: Final = ("", "warn", "nobody")
_BLANK: Final = "\ufeff \t\r\n"
# The beginning of a file that is longer than what was looked at.
_CUT_CHARS: Final = 4000


class FaultyTable(UsageError):
    """A file of the table is wrong; the message names each place."""


class FormatFile(TomlFile):
    """A file of ours: its texts are as long as they have to be."""

    max_text: ClassVar = 4000
    max_texts: ClassVar = 50
    one_line: ClassVar = False


@dataclass(frozen=True)
class Begins:
    """How a file begins: with one of the letters ``starts``, if any, and with all ``patterns``
    in it; in its first ``first_lines`` lines where that is not 0. Two of these lines or more have
    text, and all that have match ``each`` where that is given.
    """

    patterns: tuple[str, ...]
    starts: tuple[str, ...] = ()
    first_lines: int = 0
    each: "re.Pattern[str] | None" = None

    @cached_property
    def compiled(self) -> "tuple[re.Pattern[str], ...]":
        """The patterns, compiled when a file is first asked."""
        return tuple(re.compile(one, re.MULTILINE) for one in self.patterns)

    def __call__(self, head: str) -> bool:
        """Whether ``head`` is the beginning of such a file."""
        if self.starts and not head.lstrip(_BLANK).startswith(self.starts):
            return False
        if self.first_lines:
            lines = head.split("\n", self.first_lines)[: self.first_lines]
            if self.each is not None and not self.fits(lines, len(head) > _CUT_CHARS):
                return False
            head = "\n".join(lines)
        return all(one.search(head) is not None for one in self.compiled)

    def fits(self, lines: Sequence[str], long: bool) -> bool:
        """Whether two lines or more have text, all of them that of ``each``; the last of a long
        text may be cut.
        """
        told = [line.strip() for line in lines if line.strip()]
        if long and len(lines) < self.first_lines:
            told = told[:-1]
        return len(told) > 1 and all(self.each is None or self.each.match(one) for one in told)


class Tool(NamedTuple):
    """What is read of a tool: a row of docs/formats.md."""

    name: str
    checks: str
    fails: str
    warns: str


def load(module: ModuleType, *more: ModuleType) -> tuple[CheckFormat, ...]:
    """The formats of the file beside ``module``, in order, with the readers of these modules.

    Raises :class:`FaultyTable`.
    """
    file = load_file_beside(module.__name__)
    names = {name: value for one in (module, *more) for name, value in vars(one).items()}
    found = build_formats(file, names)
    list_tools(file)
    if file.faults:
        raise FaultyTable("; ".join(map(str, file.faults)))
    return found


@lru_cache(maxsize=32)
def load_file_beside(module: str) -> FormatFile:
    """The file beside the module of this name."""
    package, _, name = module.rpartition(".")
    path = resources.files(package).joinpath(f"{name}.toml")
    return FormatFile(str(path), path.read_bytes())


def load_data(module: str) -> Mapping[str, Any]:
    """What else stands in the file beside a module, by the names of its tables."""
    return load_file_beside(module).raw


def list_tools(file: FormatFile) -> list[Tool]:
    """The rows for docs/formats.md. A format without one is a fault, and so is the reverse."""
    named = {one.raw.get("tool"): one for one in file.tables("format", _KEYS)}
    tables = {one.text("id"): one for one in file.tables("tool", _TOOL_KEYS)}
    for name in named.keys() - tables.keys():
        named[name].fault("tool", f"there is no tool {name!r}")
    for name in tables.keys() - named.keys():
        tables[name].fault("id", f"no format is of the tool {name!r}")
    keys = _TOOL_KEYS[1:]
    return [Tool(*(str(one.raw.get(key, "")) for key in keys)) for one in tables.values()]


def build_formats(file: FormatFile, names: Mapping[str, Any]) -> tuple[CheckFormat, ...]:
    """The formats of a file; ``names`` are the functions beside it. Faults are the file's."""
    rows = {"line": 0, "item": 0, "block": 0}
    found: dict[str, CheckFormat] = {}
    for table in file.tables("format", _KEYS):
        parse = found.get(table.raw.get("like", ""))
        row = _make_format(table, names, rows, None if parse is None else parse.parse)
        found[row.name] = row
    return tuple(found.values())


def _make_format(
    table: EntryTable,
    names: Mapping[str, Any],
    rows: dict[str, int],
    known: Callable[[str, Reading], None] | None,
) -> CheckFormat:
    """One format; ``rows`` counts the rows of the file before it, ``known`` reads the format that
    it is ``like``.
    """
    log = table.raw.get("log", "around")
    if log not in _LOGS:
        table.fault("log", f"log {log!r} is none of {', '.join(_LOGS)}")
    begins: Callable[[str], bool] = _find_function(table, "begins", names) or Begins(
        table.texts("begins"),
        tuple(table.raw.get("starts", "")),
        table.number("first_lines"),
        _compile_pattern(table, "each"),
    )
    judge = _find_function(table, "judge", names)
    parse = _find_function(table, "read", names) or known or _make_rows_reader(table, rows, judge)
    return CheckFormat(
        table.text("name"),
        begins,
        parse,
        report=log != "all",
        lines=log != "none",
        words=table.texts("words"),
        cut_as=str(table.raw.get("cut_as", "")),
        ends=_compile_pattern(table, "ends"),
        part=_compile_pattern(table, "part"),
        sent=table.flag("sent"),
        example=table.text("example"),
        near_miss=table.text("near_miss"),
    )


def _find_function(table: EntryTable, key: str, names: Mapping[str, Any]) -> Any:
    """The function that a key names; None where it is not given, or patterns stand there."""
    name = table.raw.get(key)
    if not isinstance(name, str):
        return None
    if not callable(names.get(name)):
        table.fault(key, f"there is no function {name!r} in the module beside the file")
        return None
    return names[name]


def _compile_pattern(table: EntryTable, key: str) -> "re.Pattern[str] | None":
    pattern = table.raw.get(key)
    try:
        return None if pattern is None else re.compile(pattern, re.MULTILINE)
    except (re.error, TypeError) as error:
        table.fault(key, f"the pattern cannot be read: {error}")
        return None


def _make_rows_reader(
    table: EntryTable, rows: dict[str, int], judge: Any
) -> Callable[[str, Reading], None]:
    """The reader that the rows of a format are."""
    tables: dict[str, list[EntryTable]] = {kind: [] for kind in rows if table.raw.get(kind)}
    if not tables or (tables.keys() == {"block"}) is (judge is None):
        why = "give read, or [[format.line]], or [[format.item]], or judge and [[format.block]]"
        table.fault("read", why)
        return Lines(())
    for kind, found in tables.items():
        for raw in table.raw[kind]:
            found.append(EntryTable(table.file, (f"format.{kind}", rows[kind]), raw))
            rows[kind] += 1
    if "block" in tables:
        rows_of_blocks = [_make_block_row(one) for one in tables["block"]]
        return Blocks(rows_of_blocks, judge, table.texts("whole"))
    none = _read_pair(table, "none")
    found_items = [_make_item(one) for one in tables.get("item", ())]
    items = Items(found_items, str(table.raw.get("holds", "")), none, table.flag("by_line"))
    if "line" not in tables:
        return items
    end, clean = _read_pair(table, "end"), _read_pair(table, "clean")
    odd, silent = (str(table.raw.get(key, "")) for key in ("odd", "silent"))
    lines = Lines([_make_row(one) for one in tables["line"]], odd, silent, end, none, clean)
    return LinesOrItems(lines, items) if "item" in tables else lines


def _read_pair(table: EntryTable, key: str) -> tuple[str, str] | None:
    """A check and why it says nothing."""
    texts = table.texts(key)
    if len(texts) not in (0, 2):
        table.fault(key, f"{key} must be a check and why it is unknown")
    return (texts[0], texts[1]) if len(texts) == 2 else None


def _make_row(table: EntryTable) -> Row:
    table.check_keys(_LINE_KEYS)
    table.raw = {"pattern": "", **table.raw}
    told = _read_result_spec(table) if "check" in table.raw else None
    needs, unless = (str(table.raw.get(key, "")) for key in ("needs", "unless"))
    keep, aside = table.flag("keep"), table.flag("aside")
    return Row(table.text("pattern"), told, keep, needs, unless, aside)


def _make_block_row(table: EntryTable) -> BlockRow:
    table.check_keys(_BLOCK_KEYS)
    keep, stops, aside = (table.flag(key) for key in ("keep", "stops", "aside"))
    begins, pattern = table.number("begins"), table.text("pattern")
    return BlockRow(pattern, None, keep, aside=aside, begins=begins, stops=stops)


def _make_item(table: EntryTable) -> Item:
    table.check_keys(_ITEM_KEYS)
    return Item(table.texts("path"), _read_result_spec(table), table.texts("has"))


def _read_result_spec(table: EntryTable) -> ResultSpec:
    """What a row says."""
    by = table.raw.get("by", "script")
    if by not in SPEAKERS:
        table.fault("by", f"by {by!r} is none of {', '.join(SPEAKERS)}")
    follows = table.raw.get("follows", "")
    if follows not in _FOLLOWS:
        table.fault("follows", f"follows {follows!r} is none of {', '.join(_FOLLOWS[1:])}")
    if "outcome" not in table.raw and "unknown" not in table.raw:
        table.fault("outcome", "outcome is missing")
    templates = {key: Template(table.text(key)) for key in _TEMPLATES if key in table.raw}
    complaint = [Template(one) for one in table.texts("complaint")]
    for key, template in (*templates.items(), *(("complaint", one) for one in complaint)):
        for name in template.filters - FILTERS.keys():
            table.fault(key, f"the filter {name!r} is none of {', '.join(FILTERS)}")
    outcomes = []
    for word, pattern in table.raw.get("outcomes", {}).items():
        outcome = table.one_of("outcomes", word, Outcome)
        try:
            compiled = re.compile(pattern, re.IGNORECASE)
        except (re.error, TypeError) as error:
            table.fault("outcomes", f"the pattern cannot be read: {error}")
        else:
            outcomes += [] if outcome is None else [(compiled, outcome)]
    categories = {
        said: found
        for said, word in table.raw.get("categories", {}).items()
        if (found := table.one_of("categories", word, Category)) is not None
    }
    category = str(table.raw.get("category", ""))
    if "{" in category and not categories:
        categories = {str(one): one for one in Category}
    elif category and not categories:
        literal = table.word("category", Category)
        categories = {category: literal} if literal is not None else {}
    return ResultSpec(
        templates, outcomes, categories, complaint, by, follows, table.flag("part_always"),
        table.raw.get("pick", {}),
    )  # fmt: skip
