"""A rank's digest as bytes: a list for the JSON header, and its arrays.

What many ranks repeat (a group with its ranks, a stack, the description of an operation) is one
text in the header, so that reading sixteen thousand of them makes each value once.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

import zstandard

from triage.domain.exact_json import from_exact_json, to_exact_json
from triage.domain.rank_digest import (
    M_UNIT,
    MEMBER_FIELDS,
    S_LAST,
    STREAM_FIELDS,
    U_STREAM,
    UNIT_FIELDS,
    Counters,
    Frame,
    GroupRow,
    History,
    Members,
    OpDescription,
    OpenHistory,
    RankDigest,
    Streams,
    Unit,
    Units,
    is_any_finished,
    is_any_fresh,
)
from triage.errors import Corrupt
from triage.parsers.extract.arrays import WIDE, Array, Arrays
from triage.parsers.extract.history import (
    OPEN_HISTORIES,
    PackedHistory,
    decode_past,
    encode_past,
    get_wide_numbers,
    pack_past,
    skim_history,
)
from triage.parsers.flight_recorder.limits import MAX_RANK

Value = TypeVar("Value")
# Ranks of all different groups of an incident: a few times as many as it has. A damaged header
# must not ask for more than this.
_MAX_LISTED: Final = 16 << 20
# A log of 256 MiB that is evidence line by line comes down to a fraction of this.
_MAX_BYTES: Final = 1 << 30
# Rank lists whose runs are kept, and how many of them.
_LONG_LIST: Final = 1024
_MAX_KNOWN: Final = 16
_SCALARS: Final = (
    "artifact", "rank", "version", "comm_lib", "pending_total", "num_entries",
    "first_record_id", "gaps", "first_created_ns", "last_created_ns", "last_stamp_ns",
    "max_gap_ns", "eventless", "has_entries", "block_open", "partial",
)  # fmt: skip


class Interned:
    """Values that many extracts repeat, each made once. Dies with the set that is read.

    ``max_listed`` bounds the ranks of all their different groups, ``max_bytes`` each extract
    once it is unpacked.
    """

    def __init__(self, *, max_listed: int = _MAX_LISTED, max_bytes: int = _MAX_BYTES) -> None:
        self.max_listed = max_listed
        self.max_bytes = max_bytes
        self.known: dict[tuple[str, object], Any] = {}
        self.texts: dict[Any, Any] = {}
        self.listed = 0
        self.digests = 0
        self.zstd = zstandard.ZstdDecompressor()

    def get(self, kind: str, key: object, make: Callable[[], Value]) -> Value:
        """The value of ``key``, made when it is new."""
        found: Value | None = self.known.get((kind, key))
        if found is None:
            found = self.known[kind, key] = make()
        return found

    def text(self, value: Value) -> Value:
        """The first text that was equal to this one."""
        found: Value = self.texts.setdefault(value, value)
        return found


def digest_header(digest: RankDigest) -> list[Any]:
    """Everything but the arrays, as plain values."""
    return [
        [getattr(digest, name) for name in _SCALARS],
        [[row.key, row.name, row.desc, _RUNS.of(row.ranks)] for row in digest.groups],
        [[row.key, row.enqueued, row.started, row.completed] for row in digest.counters],
        list(digest.stream_names),
        None if digest.last_unit is None else list(digest.last_unit),
        _get_text([[one.name, one.filename, one.line] for one in digest.stack]),
        list(digest.notes),
        [len(digest.streams), len(digest.history), len(digest.pending), len(digest.members)],
    ]


def _get_text(value: object) -> str:
    return to_exact_json(value).decode("utf-8")


class _Runs:
    """The runs of the newest rank lists: dumps of one job share theirs, and a list of a
    hundred thousand is not gone through again for every rank. For one thread at a time.
    """

    def __init__(self) -> None:
        self.known: dict[int, tuple[tuple[int, ...], str]] = {}

    def of(self, ranks: tuple[int, ...] | None) -> str | None:
        """What :func:`encode_runs` says of ``ranks``."""
        if ranks is None or len(ranks) < _LONG_LIST:
            return encode_runs(ranks)
        # A list that is held here shares its id with no other.
        found = self.known.pop(id(ranks), None)
        if found is None or found[0] is not ranks:
            found = (ranks, str(encode_runs(ranks)))
        self.known[id(ranks)] = found
        while len(self.known) > _MAX_KNOWN:
            self.known.pop(next(iter(self.known)), None)
        return found[1]


_RUNS: Final = _Runs()


def encode_runs(ranks: tuple[int, ...] | None) -> str | None:
    """Ranks as ``first+step*count`` runs: ``"0+8*4"`` is 0, 8, 16, 24."""
    if ranks is None:
        return None
    if len(ranks) > 1:
        step = ranks[1] - ranks[0]
        # Nearly every group is one run: comparing with it is quicker than looking for runs.
        if step > 0 and ranks == tuple(range(ranks[0], ranks[0] + step * len(ranks), step)):
            return f"{ranks[0]}+{step}*{len(ranks)}"
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and (runs[-1][2] == 1 or rank == runs[-1][0] + runs[-1][1] * runs[-1][2]):
            if runs[-1][2] == 1:
                runs[-1][1] = rank - runs[-1][0]
            runs[-1][2] += 1
        else:
            runs.append([rank, 0, 1])
    return ",".join(f"{first}+{step}*{count}" for first, step, count in runs)


def decode_runs(text: str, interned: Interned) -> tuple[int, ...]:
    """The ranks of :func:`encode_runs`."""
    found: list[int] = []
    for run in text.split(",") if text else ():
        first, step, count = (int(part) for part in run.replace("*", "+").split("+"))
        last = first + step * (count - 1)
        if count < 1 or not (0 <= first < MAX_RANK and 0 <= last < MAX_RANK):
            raise Corrupt("a stored digest lists ranks that are none")
        interned.listed += count
        if interned.listed > interned.max_listed:
            raise Corrupt("stored digests list more ranks than any job has")
        found.extend(range(first, last + (1 if step > 0 else -1), step) if step else [first])
    return tuple(found)


def list_arrays(digest: RankDigest, *, compact: bool, timed: bool) -> Iterator[bytes]:
    """The arrays, little-endian, in the order in which :func:`decode_digest` takes them."""
    past = digest.history.read()
    yield digest.streams.data
    yield from encode_past(past, compact=compact, timed=timed)
    yield digest.pending.data
    yield digest.members.data


def decode_digest(
    header: Any,
    arrays: Arrays,
    interned: Interned,
    *,
    compact: bool,
    timed: bool,
    frame: bytes | None,
) -> RankDigest:
    """The digest of a header and its arrays. With ``frame``, the zstd frame that the arrays came
    from, the history stays packed in it.

    Raises :class:`Corrupt`, also where an index leads out of its array: the compiled code that
    reads digests does not look. ValueError, TypeError and KeyError mean a damaged header.
    """
    scalars, groups, counters, names, newest, stack, notes, counts = header
    num_streams, num_units, num_pending, num_members = counts
    streams = Streams.of(arrays.bytes(num_streams * STREAM_FIELDS * WIDE.itemsize))
    began = arrays.offset
    stream, flags = skim_history(arrays, num_units, compact=compact, timed=timed)
    _check_within(stream, num_streams)
    pending = Units.of(arrays.bytes(num_pending * UNIT_FIELDS * WIDE.itemsize))
    members = Members.of(arrays.bytes(num_members * MEMBER_FIELDS * WIDE.itemsize))
    _check_within(pending.stream, num_streams)
    _check_within(members.values[:, M_UNIT], num_pending)
    if newest is not None and (
        len(newest) != UNIT_FIELDS or not 0 <= newest[U_STREAM] < num_streams
    ):
        raise Corrupt("a stored digest points at a group that it does not have")
    if len(names) != num_streams:
        raise Corrupt("a stored digest names other groups than it has")
    history: History
    last = get_wide_numbers(streams.values[:, S_LAST])
    if frame is not None:
        fresh = is_any_fresh(flags)
        history = PackedHistory(
            frame, began, num_units, compact, is_any_finished(flags), fresh, timed, last
        )
    else:
        arrays.offset, behind = began, arrays.offset
        past = decode_past(arrays, num_units, compact=compact, timed=timed, last=last)
        arrays.offset = behind
        history = OpenHistory(past) if interned.digests < OPEN_HISTORIES else pack_past(past, last)
    interned.digests += 1
    return RankDigest(
        **dict(zip(_SCALARS, scalars, strict=True)),
        groups=tuple([_decode_group(row, interned) for row in groups]),
        # Most ranks have counted alike. By their text: 1 and 1.0 are one key, and two values.
        counters=interned.get(
            "counters", repr(counters), lambda: tuple([Counters(*row) for row in counters])
        ),
        stream_names=tuple([interned.text((name, desc)) for name, desc in names]),
        streams=streams,
        history=history,
        pending=pending,
        members=members,
        last_unit=None if newest is None else Unit._make(newest),
        stack=interned.get(
            "stack", stack, lambda: tuple([Frame(*one) for one in from_exact_json(stack.encode())])
        ),
        notes=tuple(notes),
    )


def _check_within(indexes: Array, size: int) -> None:
    if len(indexes) and not (indexes.min() >= 0 and indexes.max() < size):
        raise Corrupt("a stored digest points at a group or an operation that it does not have")


def _decode_group(row: list[Any], interned: Interned) -> GroupRow:
    key, name, desc, runs = row

    def make() -> GroupRow:
        ranks = None
        if runs is not None:
            ranks = interned.get("ranks", runs, lambda: decode_runs(runs, interned))
        return GroupRow(key, name, desc, ranks)

    return interned.get("group", (key, name, desc, runs), make)


def encode_operations(operations: Mapping[int, OpDescription]) -> str:
    """Descriptions of operations by signature, as one text."""
    return _get_text(
        [
            [sig, one.op, one.sizes, one.dtypes, one.output_sizes, one.uneven]
            for sig, one in operations.items()
        ]
    )


def decode_operations(text: str) -> dict[int, OpDescription]:
    """What :func:`encode_operations` wrote."""
    return {sig: OpDescription(*values) for sig, *values in from_exact_json(text.encode("utf-8"))}
