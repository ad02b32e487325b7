"""The newest operations of a rank as bytes, and a history that stays packed until it is asked.

A history is nine tenths of a digest, and of most ranks nobody asks for it: in a hundred thousand
ranks only the packed bytes find room.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import zstandard

from triage.domain.arrays import I64
from triage.domain.rank_digest import P2P, Past
from triage.parsers.extract.arrays import (
    BYTE,
    SHORT,
    WIDE,
    WORD,
    Array,
    Arrays,
    compute_differences,
    convert_to_little_endian,
    split_planes,
)

_LEVEL: Final = 1
# Bytes an operation of the columns between streams and flags: a number, a signature, a time.
_BEFORE_FLAGS: Final = 20
# So many histories of one incident may lie open, of 30 KB each.
OPEN_HISTORIES: Final = 4096


def encode_past(past: Past, *, compact: bool, timed: bool = False) -> Iterator[bytes]:
    """The columns as version 1 of an extract stores them, or in half the bytes where ``compact``:
    what follows in one process group follows closely, so numbers and the ends of operations are
    differences along their process group. Durations stand behind them if ``timed``.
    """
    along = np.argsort(past.stream, kind="stable")
    numbers = past.seq.astype(WORD)
    yield convert_to_little_endian(past.stream).tobytes()
    if not compact:
        yield convert_to_little_endian(numbers).tobytes()
    yield convert_to_little_endian(past.sig).tobytes()
    if compact:
        yield split_planes(compute_differences(numbers[along]))
    yield split_planes(compute_differences(past.created))
    yield convert_to_little_endian(past.flags).tobytes()
    if compact:
        yield split_planes(compute_differences((past.created // 1000 + past.wait_us)[along]))
    else:
        yield split_planes(past.wait_us)
    if timed:
        # Of a dump that tells none, -1 for each operation.
        lasted = past.lasted_us
        yield split_planes(np.full(len(past.seq), -1, np.int32) if lasted is None else lasted)


def decode_past(
    arrays: Arrays, count: int, *, compact: bool, timed: bool = False, last: I64 | None = None
) -> Past:
    """The columns of :func:`encode_past`. ``last`` are the highest
    numbers of the process groups, where a number may not fit into 32 bits.
    """
    stream = arrays.take(SHORT, count)
    along = np.argsort(stream, kind="stable")
    seq = np.empty(count, WORD) if compact else arrays.take(WORD, count)
    sig = arrays.take(WIDE, count)
    if compact:
        seq[along] = np.cumsum(arrays.take_planes(WORD, count), dtype=WORD)
    created = arrays.take_planes(WIDE, count)
    np.cumsum(created, out=created)
    flags = arrays.take(BYTE, count)
    if compact:
        ends = np.empty(count, WIDE)
        ends[along] = np.cumsum(arrays.take_planes(WIDE, count), dtype=WIDE)
        wait_us = (ends - created // 1000).astype(WORD)
    else:
        wait_us = arrays.take_planes(WORD, count)
    past = _widen_past(Past(stream, seq, sig, created, flags, wait_us), last)
    if not timed:
        return past
    lasted = arrays.take_planes(WORD, count)
    return past._replace(lasted_us=lasted if (lasted >= 0).any() else None)


def _widen_past(past: Past, last: I64 | None) -> Past:
    """The numbers whole: they are stored modulo 2 ** 32."""
    low = 0xFFFF_FFFF
    seq = past.seq.astype(np.int64) & low
    if last is not None:
        of_all = (past.flags & P2P) == 0
        highest = last[past.stream[of_all]]
        seq[of_all] = highest - ((highest - seq[of_all]) & low)
    return past._replace(seq=seq)


def get_wide_numbers(last: I64) -> I64 | None:
    """The highest numbers of the process groups, if one of them does not fit into 32 bits."""
    return last.copy() if (last >> 32).max(initial=0) > 0 else None


def skim_history(
    arrays: Arrays, count: int, *, compact: bool, timed: bool = False
) -> tuple[Array, Array]:
    """The streams and flags of ``count`` operations, without undoing what packed the others.

    The arrays go on behind them, as after :func:`decode_past`.
    """
    stream = arrays.view(SHORT, count)
    arrays.skip(_BEFORE_FLAGS * count)
    flags = arrays.view(BYTE, count)
    behind = (WIDE if compact else WORD).itemsize + (WORD.itemsize if timed else 0)
    arrays.skip(behind * count)
    return stream, flags


@dataclass(frozen=True, slots=True, eq=False)
class PackedHistory:
    """``num_units`` operations from byte ``offset`` on of what the zstd frame ``frame`` holds."""

    frame: bytes
    offset: int
    num_units: int
    compact: bool
    any_finished: bool
    any_fresh: bool
    timed: bool = False
    last: I64 | None = None
    """As :func:`decode_past` takes them."""

    def __len__(self) -> int:
        return self.num_units

    def read(self) -> Past:
        """The operations, unpacked anew at each call."""
        plain = zstandard.ZstdDecompressor().decompress(self.frame)
        return decode_past(
            Arrays(plain, self.offset),
            self.num_units,
            compact=self.compact,
            timed=self.timed,
            last=self.last,
        )


def pack_past(past: Past, last: I64 | None = None) -> PackedHistory:
    """The history of these operations, in some 4 KB for a thousand of them."""
    timed = past.lasted_us is not None
    plain = b"".join(encode_past(past, compact=True, timed=timed))
    frame = zstandard.ZstdCompressor(level=_LEVEL).compress(plain)
    return PackedHistory(
        frame,
        0,
        len(past.seq),
        compact=True,
        any_finished=past.any_finished,
        any_fresh=past.any_fresh,
        timed=timed,
        last=last,
    )
