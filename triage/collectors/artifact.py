"""Artifact: one file that is to be sent, found but not yet read.

A source yields artifacts in the order of their worth: what no longer fits, or for
which no time is left, is the last.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from triage.collectors.options import Options
    from triage.collectors.surroundings import Surroundings


class Deadline:
    """So many seconds from now."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def left_s(self) -> float:
        """Seconds left; 0.0 once it has passed."""
        return max(0.0, self._end - self._clock())

    def passed(self) -> bool:
        """Whether nothing is left."""
        return self.left_s() <= 0.0

    def at_most(self, seconds: float) -> Deadline:
        """An earlier deadline: ``seconds`` from now, or what is left where that is less."""
        return Deadline(min(seconds, self.left_s()), self._clock)

    def part(self, share: float) -> Deadline:
        """An earlier deadline: ``share`` (0 to 1) of what is left now."""
        return Deadline(self.left_s() * share, self._clock)


DUMP = "dump"
KERNEL_LOG = "kernel log"
JOB_LOG = "job log"


class Artifact(NamedTuple):
    """A file and its name in the bundle.

    ``max_bytes`` bounds it; of a longer one the end is kept where ``tail`` is set, and
    nothing otherwise. ``owner`` is the user id that it must belong to, None for any.
    ``named`` means that a person gave this path, so that links in it are followed;
    ``under`` is the end of the path that a pattern matched, where no link is followed.
    ``shared`` means that every node of the job sees the same file.
    """

    kind: str
    member: str
    path: str
    max_bytes: int
    tail: bool
    owner: int | None
    named: bool
    shared: bool
    under: str = ""


class Skipped(NamedTuple):
    """A file that is not sent, or not as it is; ``why`` is a clause.

    ``usual`` where nothing is missed by it, as a dump of an earlier job: the terminal shows
    it, the report does not.
    """

    path: str
    why: str
    usual: bool = False


class SearchContext(NamedTuple):
    """What a source needs for its search; ``scratch`` is a folder that it may write."""

    options: Options
    surroundings: Surroundings
    scratch: str
    deadline: Deadline

    @property
    def since(self) -> float | None:
        """The time that was asked for, else when the job began; None where neither is known."""
        asked = self.options.since
        return self.surroundings.started_at if asked is None else asked


class Source(Protocol):
    """One kind of bytes on a node."""

    name: str

    def poll(self, context: SearchContext) -> Iterator[Artifact | Skipped]:
        """Find them; never raises for a file or a command that is not as hoped."""
        ...
