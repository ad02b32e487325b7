"""What one rank's dump comes down to: a few kilobytes instead of its entries.

A *unit* is one operation: a plain entry of the record, or a coalesced block. The decoder writes
tables of int64, one row a process group or unit, and knows their columns by number; everybody
else reads them by name.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from triage.domain.arrays import I64

_I32 = NDArray[np.int32]
_I16 = NDArray[np.int16]
_U8 = NDArray[np.uint8]

_LITTLE: Final = np.dtype("<i8")
# In a table: the dump does not say it.
MISSING: Final = np.iinfo(np.int64).min

# Bits of a unit's flags.
FINISHED: Final = 1
STARTED_BIT: Final = 2
P2P: Final = 4
COALESCED: Final = 8
RETIRED_BIT: Final = 16
UNEVEN: Final = 32  # member sizes may differ by right
ROOTED_BIT: Final = 64
ISSUED_ALONE: Final = 128  # retired when it was issued: whether it ended is not recorded
# Above the bits: after how many ms the operation's own watchdog gives it up; 0 where nothing says.
TIMEOUT_SHIFT: Final = 8


class _Column:
    """One column of a table, as an attribute of it: an array of int64, one value a row."""

    def __init__(self, index: int) -> None:
        self.index = index

    def __get__(self, table: "_Table", owner: type) -> I64:
        return table.values[:, self.index]


class _Table:
    """Rows and columns of int64, as the decoder wrote them.

    Kept as bytes: an array has a head of twice 100 bytes, and a large job has hundreds of
    thousands of tables of a few rows.
    """

    __slots__ = ("data",)
    __hash__ = None  # type: ignore[assignment]
    width: ClassVar[int]

    def __init__(self, values: I64) -> None:
        self.data = values.astype(_LITTLE, copy=False).tobytes()

    @classmethod
    def of(cls, data: bytes) -> Self:
        """The table of these bytes, little-endian, row by row."""
        made = cls.__new__(cls)
        made.data = data
        return made

    @property
    def values(self) -> I64:
        """The rows, which cannot be written to."""
        return np.frombuffer(self.data, _LITTLE).reshape(-1, self.width)

    def __len__(self) -> int:
        return len(self.data) // (_LITTLE.itemsize * self.width)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Table) and self.data == other.data

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.values.tolist()})"


class Stream(NamedTuple):
    """One process group of one rank. A sequence number that there is not is MISSING."""

    name: int
    desc: int
    pg_id: int
    first: int
    """First collective sequence number in the window."""
    last: int
    pending: int
    """Oldest unfinished collective sequence number."""
    num_units: int
    num_p2p: int
    """Sends and receives: where there are any, the group's counters mix two counts."""
    done: int
    """Highest finished number of a collective that needs all members."""
    ratio: int
    """Output over input elements of an all-gather, which is the size of the group."""
    finished: int
    """Highest finished collective sequence number of any kind."""


STREAM_FIELDS: Final = len(Stream._fields)
(
    S_NAME, S_DESC, S_PG_ID, S_FIRST, S_LAST, S_PENDING, S_UNITS, S_P2P, S_DONE, S_RATIO,
    S_FINISHED,
) = range(STREAM_FIELDS)  # fmt: skip


class Streams(_Table):
    """The process groups of one rank; the columns are those of :class:`Stream`."""

    __slots__ = ()
    width = STREAM_FIELDS
    pg_id = _Column(S_PG_ID)
    pending = _Column(S_PENDING)
    num_p2p = _Column(S_P2P)
    ratio = _Column(S_RATIO)

    def __iter__(self) -> Iterator[Stream]:
        return map(Stream._make, self.values.tolist())


class Unit(NamedTuple):
    """One operation. Times are ns since the epoch, MISSING where they were not noticed."""

    stream: int
    seq: int
    sig: int
    created: int
    flags: int
    entry: int
    started: int
    completed: int

    @property
    def timeout_ns(self) -> int:
        """After how long its own watchdog gives it up; 0 where the dump does not say it."""
        return (self.flags >> TIMEOUT_SHIFT) * 1_000_000


UNIT_FIELDS: Final = len(Unit._fields)
(
    U_STREAM, U_SEQ, U_SIG, U_CREATED, U_FLAGS, U_ENTRY, U_STARTED, U_COMPLETED,
) = range(UNIT_FIELDS)  # fmt: skip


class Units(_Table):
    """Operations; the columns are those of :class:`Unit`."""

    __slots__ = ()
    width = UNIT_FIELDS
    stream = _Column(U_STREAM)
    seq = _Column(U_SEQ)
    sig = _Column(U_SIG)
    created = _Column(U_CREATED)
    flags = _Column(U_FLAGS)
    entry = _Column(U_ENTRY)
    started = _Column(U_STARTED)

    def __iter__(self) -> Iterator[Unit]:
        return map(Unit._make, self.values.tolist())

    def __getitem__(self, row: int) -> Unit:
        return Unit._make(self.values[row].tolist())


ANY_SOURCE: Final = -2  # the peer of a receive from whoever sends


class Member(NamedTuple):
    """A send or receive of an unfinished block: ``unit`` is a row of the pending units, ``send`` 1
    for a send, ``own`` and ``peer`` are group ranks.
    """

    unit: int
    send: int
    own: int
    peer: int
    sig: int


MEMBER_FIELDS: Final = len(Member._fields)
M_UNIT, M_SEND, M_OWN, M_PEER, M_SIG = range(MEMBER_FIELDS)


class Members(_Table):
    """Sends and receives; the columns are those of :class:`Member`."""

    __slots__ = ()
    width = MEMBER_FIELDS

    def __iter__(self) -> Iterator[Member]:
        return map(Member._make, self.values.tolist())


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a stack, innermost call first."""

    name: str
    filename: str
    line: int

    def __str__(self) -> str:
        return f"{self.name} at {self.filename}:{self.line}"


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One row of ``pg_config``; ``ranks`` are global, in group order, None when unreadable."""

    key: str
    name: str
    desc: str
    ranks: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Counters:
    """One row of ``pg_status``: last sequence numbers seen, -1 for none, None when absent."""

    key: str
    enqueued: int | None
    started: int | None
    completed: int | None


@dataclass(frozen=True, slots=True)
class OpDescription:
    """What an operation was called with, as text for people."""

    op: str
    sizes: str
    dtypes: str
    output_sizes: str = ""
    uneven: bool = False
    """Whether members may pass different sizes by right."""

    def __str__(self) -> str:
        return " ".join(part for part in (self.op, self.sizes, self.dtypes) if part)


class Past(NamedTuple):
    """The newest operations of a rank, finished or not: parallel arrays in record order."""

    stream: _I16
    seq: I64
    sig: I64
    created: I64  # ns since the epoch
    flags: _U8
    wait_us: _I32  # how long after that the end was noticed, -1 where nothing says it
    lasted_us: _I32 | None = None
    """How long it ran on the device, waiting for peers included; -1 where an operation does not
    say it, None where none does: timing was off.
    """

    @property
    def any_finished(self) -> bool:
        """Whether one of them is finished."""
        return is_any_finished(self.flags)

    @property
    def any_fresh(self) -> bool:
        """Whether one of them is finished, and no watchdog has retired it."""
        return is_any_fresh(self.flags)


def is_any_finished(flags: _U8) -> bool:
    """Whether one of the operations with these flags is finished."""
    return bool(np.bitwise_or.reduce(flags) & FINISHED)


def is_any_fresh(flags: _U8) -> bool:
    """Whether one of them is finished, and no watchdog has retired it."""
    return bool(((flags & (FINISHED | RETIRED_BIT)) == FINISHED).any())


class History(Protocol):
    """Where the :class:`Past` of one rank lies; of a large job it lies packed."""

    @property
    def any_finished(self) -> bool:
        """Whether one of the operations is finished."""
        ...

    @property
    def any_fresh(self) -> bool:
        """Whether one of them is finished, and no watchdog has retired it."""
        ...

    def __len__(self) -> int:
        """How many operations there are."""
        ...

    @property
    def timed(self) -> bool:
        """Whether any operation tells how long it ran on the device."""
        ...

    def read(self) -> Past:
        """The operations: made anew at each call where they lie packed."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class OpenHistory:
    """A history that lies open."""

    past: Past

    @property
    def any_finished(self) -> bool:
        """Whether one of the operations is finished."""
        return self.past.any_finished

    @property
    def any_fresh(self) -> bool:
        """Whether one of them is finished, and no watchdog has retired it."""
        return self.past.any_fresh

    def __len__(self) -> int:
        return len(self.past.seq)

    @property
    def timed(self) -> bool:
        """Whether any operation tells how long it ran on the device."""
        return self.past.lasted_us is not None

    def read(self) -> Past:
        """The operations."""
        return self.past


@dataclass(frozen=True, slots=True)
class RankDigest:
    """One dump, reduced.

    ``streams`` are the process groups of this rank, ``stream_names`` their (name, desc).
    ``history`` holds the newest operations, ``pending`` the oldest unfinished ones whole,
    ``members`` the sends and receives of pending blocks.
    """

    artifact: str
    rank: int
    version: str | None
    comm_lib: str | None
    groups: tuple[GroupRow, ...]
    counters: tuple[Counters, ...]
    stream_names: tuple[tuple[str | None, str | None], ...]
    streams: Streams
    history: History
    pending: Units
    members: Members
    pending_total: int
    last_unit: Unit | None
    stack: tuple[Frame, ...]
    """Stack of the oldest unfinished operation, else of the last one issued."""
    num_entries: int
    first_record_id: int
    gaps: bool
    """Records are missing in between: a dump of unfinished operations only."""
    first_created_ns: int | None
    last_created_ns: int | None
    last_stamp_ns: int | None
    max_gap_ns: int
    eventless: bool
    has_entries: bool
    block_open: bool
    partial: str | None
    notes: tuple[str, ...]
