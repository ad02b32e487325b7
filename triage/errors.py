"""Everything that triage raises on purpose.

::

    TriageError
    ├── UsageError               the call itself is wrong: path, option, kind of fault
    ├── NothingToAnalyze         not one readable input among the paths given
    └── ArtifactError            about the bytes of one file
        ├── UnknownFormat        no reader claims it
        ├── Corrupt              claimed, but unreadable; says where
        └── Forbidden            asks for more than plain data, or exceeds a limit

Bad input is data, not a bug: an :class:`ArtifactError` refuses one file and is
listed under the report's coverage; the other files go on.
"""

__all__ = [
    "ArtifactError",
    "Corrupt",
    "Forbidden",
    "NothingToAnalyze",
    "TriageError",
    "UnknownFormat",
    "UsageError",
]


class TriageError(Exception):
    """Base of every error that triage raises on purpose."""


class UsageError(TriageError):
    """The call is wrong; the message says what to give instead."""


class NothingToAnalyze(TriageError):
    """Not one input could be read; the message says why, and what to give."""


class ArtifactError(TriageError):
    """One file is refused.

    ``why`` is a clause that stands alone ("entry 12: ..."); ``offset`` is the
    byte in the decompressed file where reading stopped, when one is known.
    """

    def __init__(self, why: str, *, offset: int | None = None) -> None:
        super().__init__(why if offset is None else f"{why} (at byte {offset:,})")
        self.why = why
        self.offset = offset


class UnknownFormat(ArtifactError):
    """No reader claims the file."""


class Corrupt(ArtifactError):
    """A reader claims the file but cannot read it."""


class Forbidden(ArtifactError):
    """The file asks for more than plain data, or exceeds a limit."""
