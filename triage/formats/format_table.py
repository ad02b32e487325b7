"""Formats in the order in which a file is asked about, and one search for the words of all.

Most formats name plain words, one of which stands at the beginning of each of their files. All
words are looked for in one pass, so that its cost grows with the bytes and not with the formats;
the patterns of a format are tried only where a word of it was found.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final, Generic, Protocol, TypeVar

from triage.formats.format import Format, Head

AnyFormat = TypeVar("AnyFormat", bound=Format)


class Search(Protocol):
    """A compiled set of words."""

    def Match(self, text: bytes) -> list[int] | None:  # noqa: N802 - the name is that of google-re2
        """The places of the words that stand in ``text``, None for none."""


class FormatTable(Generic[AnyFormat]):
    """``rows`` in order; the words of all are compiled when the first text comes."""

    def __init__(self, rows: Iterable[AnyFormat]) -> None:
        self.rows: Final[Sequence[AnyFormat]] = tuple(rows)
        self.binary = tuple(row for row in self.rows if row.binary)
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

    def candidates(self, decoded: Head | None) -> Sequence[AnyFormat]:
        """The rows that may claim a file: those without words and those with a word in it.

        ``decoded`` is its beginning in UTF-8, None where it is no text.
        """
        if decoded is None:
            return self.binary
        found = self.search.Match(decoded.searched) or ()
        places = self.always.union(*(self.places[k] for k in found))
        return [self.rows[k] for k in sorted(places)]


def find_first_claim(
    rows: Iterable[AnyFormat], raw: Head, decoded: Head | None
) -> AnyFormat | None:
    """The first of ``rows`` that claims a file; of one that is no text only binary ones can."""
    for row in rows:
        head = raw if row.binary else decoded
        if head is not None and row.claims(head):
            return row
    return None
