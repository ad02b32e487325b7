"""Readers: whoever turns files into extracts and extracts into an answer, as tasks see them."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from triage.sandbox.pool import NOTHING_KNOWN, Analysis, Extracted, FileToRead, KnownOfJob


class Readers(Protocol):
    """A pool of children that can be killed; in tests, readers in the same process.

    Both raise ``ReaderDied``, ``ReaderTooSlow`` and ``ReaderFailed``.
    """

    def extract(
        self,
        files: Sequence[FileToRead],
        facts_json: bytes = b"{}",
        *,
        own: bytes = b"",
        deadline_s: float,
    ) -> list[Extracted]:
        """What ``files`` came down to, in their order; ``own`` are own signatures."""
        ...

    def analyse(
        self,
        packed: Iterable[bytes],
        known: KnownOfJob = NOTHING_KNOWN,
        *,
        deadline_s: float,
    ) -> Analysis:
        """The answer that follows from packed extracts."""
        ...

    def close(self) -> None:
        """End the children."""
        ...
