"""The form of a file of signatures, ours or a team's: TOML, each fault with its line.

:class:`TomlFile` is one file, :class:`EntryTable` one entry of it, :func:`read_values` what every
entry says. Nothing is raised: whoever reads a file looks at its faults.
"""

import tomllib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, Final, TypedDict, TypeVar

from triage.domain.category import HARDWARE, Category
from triage.domain.evidence import Blame, EvidenceRole, Kind
from triage.domain.patterns import compile_re
from triage.domain.toml_tables import read_toml
from triage.signatures.own.faults import SignatureFault
from triage.signatures.own.pattern import PatternFault, derive_literals
from triage.signatures.signature import Scope

ENTRY_KEYS: Final = (
    "name", "pattern", "literals", "role", "category", "also", "kind", "scope", "blame",
    "severity", "weak", "matches", "near_misses",
)  # fmt: skip
_AT_LINE: Final = compile_re(r"\(?at line (\d+), column \d+\)?")
_HEADER: Final = compile_re(r"\s*\[\[?\s*([\w.-]+)\s*\]\]?\s*(?:#.*)?")
_KEY: Final = compile_re(r"\s*[\"']?([\w-]+)[\"']?\s*=")
_LONG: Final = ('"""', "'''")
USUAL_KIND: Final[Mapping[Category, Kind]] = {
    Category(name): Kind(one["usual_kind"])
    for name, one in read_toml("triage.domain", "category").items()
    if "usual_kind" in one
}
Word = TypeVar("Word", bound=StrEnum)


class TomlLines:
    """On which line an entry of a list of tables stands, and a key of it.

    The headers ``[[NAME]]`` and ``[NAME]`` of a text that is TOML, and the keys below each.
    """

    def __init__(self, text: str) -> None:
        self.headers: dict[str, list[int]] = {}
        self.keys: dict[tuple[int, str], int] = {}
        current, inside = 0, ""
        for number, line in enumerate(text.split("\n"), start=1):
            if not inside:
                if header := _HEADER.fullmatch(line.rstrip("\r")):
                    current = number
                    self.headers.setdefault(header[1], []).append(number)
                elif key := _KEY.match(line):
                    self.keys.setdefault((current, key[1]), number)
            inside = _find_open_quotes(line, inside)

    def entry(self, table: str, index: int) -> int:
        """The line of the entry ``index`` (from 0) of ``table``; 1 where it cannot be told."""
        headers = self.headers.get(table, [])
        if index < len(headers):
            return headers[index]
        return self.keys.get((0, table), 1)

    def key(self, table: str, index: int, key: str) -> int:
        """The line of a key of that entry, else the entry's."""
        entry = self.entry(table, index)
        return self.keys.get((entry, key), entry)


def _find_open_quotes(line: str, quote: str) -> str:
    """The quotes of the text of several lines that ``line`` ends in; ``quote`` those before it."""
    at = 0
    while True:
        if quote:
            found = line.find(quote, at)
            if found < 0:
                return quote
            at, quote = found + 3, ""
            continue
        starts = [(line.find(one, at), one) for one in _LONG if line.find(one, at) >= 0]
        if not starts:
            return ""
        place, quote = min(starts)
        at = place + 3


class TomlFile:
    """One file as it was read: ``raw`` is what it holds, empty where it is no TOML."""

    max_text: ClassVar = 2000
    max_texts: ClassVar = 50
    one_line: ClassVar = True
    """Whether no text may go on in the lines behind it."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self.faults: list[SignatureFault] = []
        self.text = ""
        self.raw: dict[str, Any] = {}
        try:
            self.text = data.decode("utf-8")
            self.raw = tomllib.loads(self.text)
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            self.fault(line, f"the file is not UTF-8: byte {error.start} of it")
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            at = _AT_LINE.search(str(error))
            message = _AT_LINE.sub("", str(error)).strip() or "nested too deep"
            last = self.text.rstrip().count("\n") + 1
            self.fault(int(at[1]) if at else last, f"the file is no TOML: {message}")

    @cached_property
    def lines(self) -> TomlLines:
        """Where each entry stands, and each key; only a fault asks that of our own files."""
        return TomlLines(self.text)

    def fault(self, line: int, reason: str) -> None:
        """One more fault."""
        self.faults.append(SignatureFault(self.name, line, reason))

    def tables(self, name: str, keys: tuple[str, ...]) -> Iterator["EntryTable"]:
        """The entries of a list of tables; each key that is none of ``keys`` is a fault."""
        entries = self.raw.get(name, [])
        if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
            self.fault(self.lines.entry(name, 0), f"{name} must be a list of tables: [[{name}]]")
            return
        for index, raw in enumerate(entries):
            table = EntryTable(self, (name, index), raw)
            table.check_keys(keys)
            yield table


class EntryTable:
    """One entry: its values, checked one by one, each fault on the line of its key."""

    def __init__(self, file: TomlFile, where: tuple[str, int], raw: Mapping[str, Any]) -> None:
        self.file = file
        self.where = where
        self.raw = raw
        self.sound = True

    @property
    def line(self) -> int:
        """The line on which it stands."""
        return self.file.lines.entry(*self.where)

    def fault(self, key: str, reason: str) -> None:
        """Something is wrong with the value of ``key``."""
        self.sound = False
        self.file.fault(self.file.lines.key(*self.where, key), reason)

    def check_keys(self, keys: tuple[str, ...]) -> None:
        """A key that is none of ``keys`` is a fault."""
        for key in sorted(set(self.raw) - set(keys)):
            self.fault(key, f"the key {key!r} is none; keys are {', '.join(keys)}")

    def text(self, key: str) -> str:
        """A text that has to be there."""
        value = self.raw.get(key)
        most = self.file.max_text
        if value is None:
            self.fault(key, f"{key} is missing")
        elif not isinstance(value, str) or not 1 <= len(value) <= most:
            self.fault(key, f"{key} must be a text of 1 to {most:,} characters")
        else:
            return value
        return ""

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; a single text is a list of one."""
        value = self.raw.get(key, [])
        value = [value] if isinstance(value, str) else value
        most, one_line = self.file.max_text, self.file.one_line
        if not isinstance(value, list) or len(value) > self.file.max_texts:
            self.fault(key, f"{key} must be a list of at most {self.file.max_texts} texts")
            return ()
        for one in value:
            if not isinstance(one, str) or not 1 <= len(one) <= most or (one_line and "\n" in one):
                what = "texts of one line, " if one_line else "texts "
                self.fault(key, f"{key} must be {what}of 1 to {most:,} characters")
                return ()
        return tuple(value)

    def word(self, key: str, words: type[Word]) -> Word | None:
        """One of the words of an enumeration; None where it is not given, or is none of them."""
        value = self.raw.get(key)
        return None if value is None else self.one_of(key, value, words)

    def one_of(self, key: str, value: object, words: type[Word]) -> Word | None:
        """``value`` as a word of the enumeration, a fault where it is none."""
        try:
            if isinstance(value, str):
                return words(value)
        except ValueError:
            pass
        self.fault(key, f"{key} {value!r} is none of {', '.join(map(str, words))}")
        return None

    def words(self, key: str, words: type[Word]) -> tuple[Word, ...]:
        """A list of such words."""
        found = [self.one_of(key, one, words) for one in self.texts(key)]
        return tuple(one for one in found if one is not None)

    def number(self, key: str) -> int:
        """A count, 0 where it is not given."""
        value = self.raw.get(key, 0)
        if type(value) is not int or value < 0:
            self.fault(key, f"{key} must be a number from 0 on")
            return 0
        return value

    def flag(self, key: str) -> bool:
        """Whether a flag is set."""
        value = self.raw.get(key, False)
        if not isinstance(value, bool):
            self.fault(key, f"{key} must be true or false")
        return value is True


class Values(TypedDict):
    """What every entry says, whoever wrote it."""

    literals: tuple[str, ...]
    role: EvidenceRole
    kind: Kind
    scope: Scope
    matches: tuple[str, ...]
    near_misses: tuple[str, ...]
    category: Category | None
    also: tuple[Category, ...]
    blame: Blame
    weak: bool


def read_values(table: EntryTable, pattern: str) -> Values:
    """The values of an entry with ``pattern``; what it does not give is as usual."""
    category = table.word("category", Category)
    usual_kind = Kind.GPU if category in HARDWARE else Kind.PYTHON
    usual_kind = Kind.KERNEL if category is None else USUAL_KIND.get(category, usual_kind)
    # A shared file system is on no node, whoever complains of it.
    usual_blame = Blame.SHARED if category is Category.STORAGE else Blame.SELF
    literals = tuple(one.lower() for one in table.texts("literals"))
    if pattern and not literals:
        literals = _list_literals(table, pattern)
    return Values(
        literals=literals,
        role=table.word("role", EvidenceRole) or EvidenceRole.ROOT,
        kind=table.word("kind", Kind) or usual_kind,
        scope=table.word("scope", Scope) or Scope.ANY,
        matches=table.texts("matches"),
        near_misses=table.texts("near_misses"),
        category=category,
        also=table.words("also", Category),
        blame=table.word("blame", Blame) or usual_blame,
        weak=table.flag("weak"),
    )


def _list_literals(table: EntryTable, pattern: str) -> tuple[str, ...]:
    try:
        found = derive_literals(pattern)
    except PatternFault as error:
        table.fault("pattern", str(error))
        return ()
    if not found:
        table.fault(
            "pattern",
            "the pattern has no text that every match holds: it would be tried on every line;"
            " give literals",
        )
    return found
