"""How far each rank of an NCCL communicator came, as RAS, recorders and plugins tell."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from triage.domain.live.process import Process


class Presence(StrEnum):
    """Whether a rank answered for itself."""

    ANSWERED = "answered"
    MISSING = "missing"
    UNRESPONSIVE = "unresponsive"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class CommunicatorRank:
    """One member. ``rank`` is its rank in the communicator.

    ``launched`` and ``completed`` are how many operations it launched or completed, by the name of
    the function in lower case (``allreduce``), ``all`` where one number counts them all; None
    where nothing says it, which is not 0. ``error`` is its asynchronous error in words,
    ``remote_error`` whether that only tells of a peer's. ``status`` is ``init``, ``running``,
    ``finalize`` or ``abort``.
    """

    rank: int
    process: Process
    presence: Presence = Presence.ANSWERED
    launched: Mapping[str, int] | None = None
    completed: Mapping[str, int] | None = None
    status: str | None = None
    error: str | None = None
    remote_error: bool = False
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Communicator:
    """A communicator as one tool saw it at one moment.

    ``hash`` is a number: tools print it padded, bare, with 0x, or decimal. ``ranks`` are those that
    the tool lists, ascending; ``rest`` is what it says of all others together (RAS lists small
    groups alone), None where it says nothing. ``size`` is of all members, 0 where it is not said.

    ``durations_us`` are kernel times of one ``function`` by rank in the communicator;
    ``numbers[rank][k]`` is the number of the operation that took ``durations_us[rank][k]``, from 0
    for each function, the same on all ranks. ``unlisted[operation][count]`` is of how many ranks a
    tool says that they launched ``count``, and does not list them.
    """

    hash: int
    size: int
    ranks: tuple[CommunicatorRank, ...]
    rest: CommunicatorRank | None = None
    name: str = ""
    line: int | None = None
    durations_us: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    function: str = ""
    numbers: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    unlisted: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
