"""What a format is: how its files begin, what an upload of it is stored as, and how it is read."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Final, Generic, Protocol, TypeVar

from triage.domain.file_kind import FileKind
from triage.domain.patterns import compile_re
from triage.domain.report import Refused
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.layout import Layout, detect_layout
from triage.parsers.logs.source import LogStream

# Each log of a job of 16,384 ranks is asked whether it is a report of checks. Words are looked
# for in so much of a file, too.
_CHECK_HEAD_BYTES: Final = 8 << 10
# What a terminal is told between the letters: colours, and to clear the rest of a line.
_CONTROL: Final = compile_re(r"\x1b\[[0-9;?]{0,24}[A-Za-z]")

ReadLines = Callable[[LogStream], Outcome]
"""Reads a stream as the lines of a log."""


def strip_decoration(text: str) -> str:
    """``text`` without byte-order mark, colours and carriage returns at line ends.

    Its lines keep their numbers.
    """
    text = text.removeprefix("\ufeff")
    if "\x1b" in text:
        text = _CONTROL.sub("", text)
    return text.replace("\r\n", "\n") if "\r" in text else text


class Head:
    """How a file begins: its first bytes behind any compression, and its name.

    Text is in UTF-8. 4 KiB tell a dump, 64 KiB are looked at of a log.
    """

    def __init__(self, data: bytes, name: str = "") -> None:
        self.data = data
        self.name = name

    @cached_property
    def text(self) -> str:
        """The first 8 KiB as text, what is not UTF-8 replaced."""
        return self.data[:_CHECK_HEAD_BYTES].decode("utf-8", "replace")

    @cached_property
    def plain_text(self) -> str:
        """:attr:`text` without byte-order mark, colours and carriage returns at line ends."""
        return strip_decoration(self.text)

    @cached_property
    def searched(self) -> bytes:
        """Where the words of formats are looked for: the first 8 KiB, with escapes and without."""
        data = self.data[:_CHECK_HEAD_BYTES]
        return data if b"\x1b" not in data else data + b"\n" + self.plain_text.encode()

    @cached_property
    def whole_text(self) -> str:
        """All of it as text, what is not UTF-8 replaced."""
        return self.data.decode("utf-8", "replace")

    @cached_property
    def layout(self) -> Layout:
        """How its lines are laid out, if it is a log."""
        return detect_layout(self.data)


class Format(Protocol):
    """A form that files come in.

    ``kind`` is what an upload of it is stored as; None where the lines say whether a kernel or
    a job printed them. All but the dumps are text.

    One of ``words`` stands in the first 8 KiB of each file of this format, in letters of either
    case, so that a file without them need not be asked about. They are ASCII and lie within a
    line. A format without words is asked about every file: what tells it is no plain word, or may
    stand further behind.
    """

    @property
    def name(self) -> str:
        """One word for it, stable."""
        ...

    @property
    def kind(self) -> FileKind | None:
        """What an upload of it is stored as."""
        ...

    @property
    def words(self) -> tuple[str, ...]:
        """Of which one is in each file of it."""
        ...

    def claims(self, head: Head) -> bool:
        """Whether a file that begins so is one of these. Loads nothing that is compiled."""
        ...


class StreamFormat(Format, Protocol):
    """A format that is read piece by piece, however large the file is."""

    def read(self, stream: LogStream, read_lines: ReadLines) -> Outcome | Refused:
        """What the file holds. ``read_lines`` reads what turns out to be lines of a log."""
        ...


# Formats in the order in which a file is asked about, and one search for the words of all.
#
# Most formats name plain words, one of which stands at the beginning of each of their files. All
# words are looked for in one pass, so that its cost grows with the bytes and not with the formats;
# the patterns of a format are tried only where a word of it was found.

AnyFormat = TypeVar("AnyFormat", bound=Format)


class Search(Protocol):
    """A compiled set of words."""

    def Match(self, text: bytes) -> list[int] | None:  # noqa: N802 - the name is that of google-re2
        """The places of the words that stand in ``text``, None for none."""


class FormatTable(Generic[AnyFormat]):
    """``rows`` in order; the words of all are compiled when the first text comes."""

    def __init__(self, rows: Iterable[AnyFormat]) -> None:
        self.rows: Final[Sequence[AnyFormat]] = tuple(rows)
        self.always = frozenset(k for k, row in enumerate(self.rows) if not row.words)
        places: dict[str, set[int]] = {}
        for place, row in enumerate(self.rows):
            for word in row.words:
                places.setdefault(word.lower(), set()).add(place)
        self.words = tuple(places)
        self.places = tuple(places.values())

    @cached_property
    def search(self) -> Search:
        """The set of :attr:`words`; what it finds are places among them."""
        import re2  # type: ignore[import-untyped]  # the command starts without it

        options = re2.Options()
        options.literal = True
        options.case_sensitive = False
        options.encoding = re2.Options.Encoding.LATIN1
        compiled = re2.Set.SearchSet(options)
        for word in self.words:
            compiled.Add(word.encode("ascii"))
        compiled.Compile()
        search: Search = compiled
        return search

    def candidates(self, head: Head) -> Sequence[AnyFormat]:
        """The rows that may claim a file: those without words and those with a word in it."""
        found = self.search.Match(head.searched) or ()
        places = self.always.union(*(self.places[k] for k in found))
        return [self.rows[k] for k in sorted(places)]

    def find_first(self, head: Head) -> AnyFormat | None:
        """The first row that claims a file."""
        return next((row for row in self.candidates(head) if row.claims(head)), None)
