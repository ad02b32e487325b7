"""Readers: whoever turns files into extracts and extracts into an answer, as tasks see them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from triage.domain.report import Refused
from triage.domain.standing import NO_STANDINGS, Prior
from triage.sandbox.pool import Analysis, Extracted, FileToRead

__all__ = ["Readers"]


class Readers(Protocol):
    """A pool of children that can be killed; in tests, readers in the same process.

    Both raise ``ReaderDied``, ``ReaderTooSlow`` and ``ReaderFailed`` of ``isolated``.
    """

    def extract(
        self, files: Sequence[FileToRead], facts_json: bytes = b"{}", *, deadline_s: float
    ) -> list[Extracted]:
        """What ``files`` came down to, in their order."""
        ...

    def analyse(
        self,
        packed: Iterable[bytes],
        facts_json: bytes = b"{}",
        refused: Iterable[Refused] = (),
        notes: Iterable[str] = (),
        at: datetime | None = None,
        *,
        deadline_s: float,
        standings: Mapping[str, Prior] = NO_STANDINGS,
    ) -> Analysis:
        """The answer that follows from packed extracts."""
        ...

    def close(self) -> None:
        """End the children."""
        ...
