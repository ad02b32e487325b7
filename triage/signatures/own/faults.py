"""What is wrong with own signatures: all of it at once, each with its file and line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from triage.errors import UsageError

# A sentence holds so many; `faults` holds all.
_SAID: Final = 5


@dataclass(frozen=True, slots=True, order=True)
class SignatureFault:
    """One thing that is wrong; ``line`` counts from 1 and is of the entry, or of its key."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


class FaultySignatures(UsageError):
    """Nothing of the files is used; ``faults`` are in the order of files and lines."""

    def __init__(self, faults: Sequence[SignatureFault]) -> None:
        self.faults = tuple(sorted(set(faults)))
        message = "; ".join(map(str, self.faults[:_SAID]))
        more = len(self.faults) - _SAID
        super().__init__(f"{message}; and {more} more" if more > 0 else message)
