"""What a format is: how its files begin, what an upload of it is stored as, and how it is read."""

from collections.abc import Callable
from functools import cached_property
from typing import Protocol

from triage.domain.file_kind import FileKind
from triage.domain.report import Refused
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.layout import Layout, layout_of
from triage.parsers.logs.source import LogStream

__all__ = ["Format", "Head", "ReadLines", "StreamFormat"]

# Each log of a job of 16,384 ranks is asked whether it is a report of checks.
CHECK_HEAD_BYTES = 8 << 10

ReadLines = Callable[[LogStream], Outcome]
"""Reads a stream as the lines of a log."""


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
        return self.data[:CHECK_HEAD_BYTES].decode("utf-8", "replace")

    @cached_property
    def whole_text(self) -> str:
        """All of it as text, what is not UTF-8 replaced."""
        return self.data.decode("utf-8", "replace")

    @cached_property
    def layout(self) -> Layout:
        """How its lines are laid out, if it is a log."""
        return layout_of(self.data)


class Format(Protocol):
    """A form that files come in.

    ``kind`` is what an upload of it is stored as; None where the lines say whether a kernel or
    a job printed them. The bytes of a ``binary`` one are stored as they came, and no secret is
    looked for in them; all others are text, and are asked for text alone.
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
    def binary(self) -> bool:
        """Whether it is no text."""
        ...

    def claims(self, head: Head) -> bool:
        """Whether a file that begins so is one of these. Loads nothing that is compiled."""
        ...


class StreamFormat(Format, Protocol):
    """A format that is read piece by piece, however large the file is."""

    def read(self, stream: LogStream, read_lines: ReadLines) -> Outcome | Refused:
        """What the file holds. ``read_lines`` reads what turns out to be lines of a log."""
        ...
