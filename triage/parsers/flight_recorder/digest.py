"""What one rank's dump comes down to: a few kilobytes instead of its entries."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Counters", "Frame", "GroupRow", "OpDescription", "RankDigest"]

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
I16 = NDArray[np.int16]
U8 = NDArray[np.uint8]


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


@dataclass(frozen=True, slots=True)
class RankDigest:
    """One dump, reduced.

    ``streams`` rows are the process groups of this rank (columns ``S_*`` of
    reduce.py), ``stream_names`` their (name, desc). ``units`` are the newest
    finished and unfinished operations in record order: stream, sequence number,
    signature, creation time (ns since the epoch), flags, and how long after its creation
    the end was noticed (us, -1 when nothing says it). ``pending`` holds the
    oldest unfinished ones whole (columns ``U_*``), ``members`` the p2p members of
    pending blocks (columns ``M_*``, first column an index into ``pending``).
    """

    artifact: str
    rank: int
    version: str | None
    comm_lib: str | None
    groups: tuple[GroupRow, ...]
    counters: tuple[Counters, ...]
    stream_names: tuple[tuple[str | None, str | None], ...]
    streams: I64
    unit_stream: I16
    unit_seq: I32
    unit_sig: I64
    unit_created: I64
    unit_flags: U8
    unit_wait_us: I32
    pending: I64
    members: I64
    pending_total: int
    last_unit: tuple[int, ...] | None
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
