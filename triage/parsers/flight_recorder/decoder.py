"""One dump's bytes to its digest.

A decoder belongs to one thread: it owns the scratch arrays. What many dumps
repeat is kept once, in a :class:`Shared` that all threads use.
"""

import zlib
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from triage.domain import rank_digest as rd
from triage.domain.rank_digest import (
    Counters,
    Frame,
    GroupRow,
    Members,
    OpDescription,
    OpenHistory,
    Past,
    RankDigest,
    Streams,
    Unit,
    Units,
)
from triage.errors import ArtifactError, Corrupt, Forbidden
from triage.parsers.flight_recorder import columns as col
from triage.parsers.flight_recorder import interpreter as ops
from triage.parsers.flight_recorder import reduce as red
from triage.parsers.flight_recorder.backends import Backends, find_backends
from triage.parsers.flight_recorder.jit import compile_if_more_than
from triage.parsers.flight_recorder.json_dump import convert_json_to_opcodes
from triage.parsers.flight_recorder.limits import DEFAULT_LIMITS, MAX_RANK, Limits
from triage.parsers.flight_recorder.long_texts import LONG_TEXT, T_STRING, LongTexts
from triage.parsers.flight_recorder.opnames import OpName, parse_op_name
from triage.parsers.flight_recorder.sequence_numbers import fill_in
from triage.parsers.flight_recorder.shared import Shared

# Operations kept per rank for comparing issue times. Twenty decide a straggler;
# a thousand at 16,384 ranks are 400 MB, the default ring's 2,000 twice that.
HISTORY_UNITS: Final = 1024
# Unfinished operations kept whole. The oldest one is where the rank is stuck;
# the ones behind it show a swap.
PENDING_UNITS: Final = 64
# Of these, the ones that are described in words, beside the last one issued.
DESCRIBED_UNITS: Final = 16
# Members of a coalesced block that are described in words.
_SHOWN_MEMBERS: Final = 4
# All-gathers looked at to learn the sizes of groups; a job has a handful.
_MAX_MEASURED: Final = 256
# The newest dump format that was looked at.
_KNOWN: Final = (2, 10)
# How much larger an array gets at once: what a dump begins with may not be like the rest of it.
_MOST_AT_ONCE: Final = 8


class Decoder:
    """Decodes dumps one after the other. Not to be shared between threads."""

    def __init__(self, shared: Shared, limits: Limits = DEFAULT_LIMITS) -> None:
        self.shared = shared
        self.limits = limits
        self.scratch = ops.Scratch()
        self.long = LongTexts()
        self.names, self.name_offsets = col.pack_known_names()
        self.entries = np.empty((4096, col.FIELDS), np.int64)
        self.groups = np.empty((256, 4), np.int64)
        self.status = np.empty((256, 4), np.int64)
        self.known = np.empty(4096, np.int32)
        self.work = np.zeros(1, np.int64)
        self.walked = np.zeros(col.OUT_SLOTS, np.int64)
        self.streams = np.empty((red.MAX_STREAMS, rd.STREAM_FIELDS), np.int64)
        self.units = np.empty((4096, rd.UNIT_FIELDS), np.int64)
        self.members = np.empty((8192, rd.MEMBER_FIELDS), np.int64)
        self.marks = np.empty((4096, red.MARK_FIELDS), np.int64)
        self.newest = np.empty(red.MAX_STREAMS, np.int64)
        self.recorders = np.empty(red.MAX_STREAMS, np.int32)
        self.reduced = np.zeros(red.OUT_SLOTS, np.int64)
        self.numbers_told = self.numbers_lost = 0
        self.buf: NDArray[np.uint8] = np.empty(0, np.uint8)

    def share(self, shared: Shared) -> None:
        """From here on keep what dumps repeat in ``shared``."""
        self.shared = shared
        self.long.clear()

    def decode(self, data: bytes | bytearray | memoryview, artifact: str, rank: int) -> RankDigest:
        """The digest of one dump.

        Raises :class:`Corrupt` or :class:`Forbidden` with the byte where reading
        stopped. A dump that is cut short is no error: its whole entries are kept
        and ``partial`` says why.
        """
        compile_if_more_than(len(data))
        if len(data) > self.limits.file_bytes:
            raise Forbidden(f"{len(data):,} bytes; at most {self.limits.file_bytes:,} are read")
        if len(data) == 0:
            raise Corrupt("the file is empty: the process ended before it could write its dump")
        if data[0] == 0 and not bytes(data).strip(b"\0"):
            raise Corrupt(
                f"{len(data):,} bytes of zeros: the machine or its disk gave up before the dump"
                " was written"
            )
        is_json = data[0] != 0x80
        if is_json:
            data = convert_json_to_opcodes(bytes(data), self.limits)
        self.buf = np.frombuffer(data, np.uint8)
        if not self.buf.flags.writeable:
            # Arrays that may not be written to are another type: all would be compiled twice.
            self.buf = self.buf.copy()
        try:
            partial = self.interpret()
        except ArtifactError as error:
            if is_json:  # the place is one in our own opcodes
                raise type(error)(error.why) from error
            raise
        try:
            self.walk()
        except Corrupt as error:
            # The walk names what it misses, which is behind the cut.
            raise (
                error if partial is None else Corrupt(f"{partial}, before anything is told")
            ) from error
        return self.digest(artifact, rank, partial)

    def interpret(self) -> str | None:
        """Run the opcodes; what was cut off, or None when the dump is whole."""
        scratch, limits = self.scratch, self.limits
        while True:
            scratch.out[:] = 0
            scratch.string_slots[:] = -1
            self.long.rows[:, T_STRING] = -1
            ops.interpret(
                self.buf,
                len(self.buf),
                limits.text_bytes,
                limits.open_containers,
                *scratch.interpreted,
                self.long.data,
                self.long.rows,
                scratch.out,
            )
            code = int(scratch.out[ops.OUT_CODE])
            if not ops.FULL_STACK <= code <= ops.FULL_MEMO:
                break
            self.refuse_or_grow(code)
        offset = int(scratch.out[ops.OUT_OFFSET])
        detail = int(scratch.out[ops.OUT_DETAIL])
        if code in ops.CODE_NAMES:
            kind = Forbidden if code >= ops.BAD_OPCODE else Corrupt
            raise kind(ops.CODE_NAMES[code].format(detail=detail), offset=offset)
        if code == ops.CUT:
            if scratch.out[ops.OUT_ROOT_TAG] not in (ops.DICT, ops.LIST):
                raise Corrupt("cut off before the first group or entry", offset=offset)
            zeros = "only zeros follow" if scratch.out[ops.OUT_ZERO_TAIL] else "the file ends"
            return f"cut short: {zeros} at byte {offset:,}"
        return None

    def refuse_or_grow(self, code: int) -> None:
        """Enlarge the array that is full, unless it is at its limit.

        Each time the dump is read from its start again: what was needed for the part that was
        read tells what the whole will need.
        """
        scratch, limits = self.scratch, self.limits
        held, most, what = {
            ops.FULL_STACK: (len(scratch.stack), limits.stack, "values under construction"),
            ops.FULL_CELLS: (len(scratch.cell), limits.values, "values"),
            ops.FULL_CONTAINERS: (len(scratch.containers), limits.containers, "containers"),
            ops.FULL_STRINGS: (len(scratch.strings), limits.strings, "distinct strings"),
            ops.FULL_MEMO: (len(scratch.memo), limits.memo, "memo entries"),
        }[code]
        offset = int(scratch.out[ops.OUT_OFFSET])
        if held >= most:
            raise Forbidden(f"more than {held:,} {what}", offset=offset)
        times = 2
        while times < _MOST_AT_ONCE and held * times * 2 <= most and times * offset < len(self.buf):
            times *= 2
        scratch.grow(code, times)

    def walk(self) -> None:
        """The values as tables."""
        scratch = self.scratch
        num_strings = int(scratch.out[ops.OUT_STRINGS])
        if len(self.known) < num_strings + 1:
            self.known = np.empty(num_strings + 1024, np.int32)
        while True:
            self.walked[:] = 0
            self.known[:] = -2
            col.walk(
                int(scratch.out[ops.OUT_ROOT_TAG]),
                int(scratch.out[ops.OUT_ROOT]),
                self.buf,
                *scratch.values,
                self.names,
                self.name_offsets,
                self.known,
                self.work,
                self.entries,
                self.groups,
                self.status,
                self.walked,
            )
            full = int(self.walked[col.OUT_FULL])
            if full == 0:
                break
            if full == 1:
                wanted = int(self.walked[col.OUT_ENTRIES])
                if wanted > self.limits.entries:
                    raise Forbidden(f"{wanted:,} entries; at most {self.limits.entries:,} are read")
                self.entries = np.empty((wanted + 1024, col.FIELDS), np.int64)
            else:
                table = self.groups if full == 2 else self.status
                if len(table) >= 1 << 18:
                    raise Forbidden(f"more than {len(table):,} process groups")
                if full == 2:
                    self.groups = np.empty((len(table) * 4, 4), np.int64)
                else:
                    self.status = np.empty((len(table) * 4, 4), np.int64)
        if self.walked[col.OUT_WORK] > col.MAX_WORK:
            raise Forbidden("lists shared so often that reading them would not end")
        if self.walked[col.OUT_SHAPE] == 1:
            raise Corrupt("neither a dict nor a list at the top: no flight-recorder dump")
        if self.walked[col.OUT_SHAPE] == 2:
            raise Corrupt('no "entries", "pg_config" or "pg_status": no flight-recorder dump')
        if not self.walked[col.OUT_ENTRIES] and self.walked[col.OUT_SKIPPED]:
            raise Corrupt(
                f"none of its {int(self.walked[col.OUT_SKIPPED]):,} list items is an entry with"
                ' a "profiling_name": no flight-recorder dump'
            )

    def short_text(self, index: int) -> str:
        """String ``index`` of the present dump, its first 512 characters; decoded once
        per content, since every dump repeats its names.
        """
        offset, length, key = self.scratch.strings[index].tolist()
        if length > 512:
            # At most four bytes a character: what is cut off is not decoded either.
            raw = self.buf[offset : offset + min(length, 2048)].tobytes()
            return raw.decode("utf-8", "replace")[:512]
        raw = self.buf[offset : offset + length].tobytes()
        known = self.shared.names.get(key)
        if known is None or len(known) != length or known.encode("utf-8", "replace") != raw:
            known = raw.decode("utf-8", "replace")
            if len(self.shared.names) < 200_000:
                self.shared.names[key] = known
        return known

    def digest(self, artifact: str, rank: int, partial: str | None) -> RankDigest:
        """Reduce the tables to the digest."""
        walked = self.walked
        count = int(walked[col.OUT_ENTRIES])
        entries = self.entries[:count]
        # The distinct names of the dump, by the indexes of their strings.
        seen = np.zeros(int(self.scratch.out[ops.OUT_STRINGS]) + 1, np.bool_)
        seen[entries[:, col.NAME]] = True
        used = np.flatnonzero(seen).tolist()
        names = {index: parse_op_name(self.short_text(index)) for index in used}
        backends = find_backends(names, entries)
        eventless = bool(names) and red.BY_STATE not in backends.ends.values()
        self.reduce(entries, names, backends)
        if self.numbers_lost and partial is None:
            partial = f"{self.numbers_lost} entries lack the sequence number that tells their place"
        reduced = self.reduced
        num_units = int(reduced[red.OUT_UNITS])
        units = self.units[:num_units]
        open_units = np.flatnonzero((units[:, rd.U_FLAGS] & (rd.FINISHED | rd.ISSUED_ALONE)) == 0)
        kept = open_units[:PENDING_UNITS]
        recent = units[max(0, num_units - HISTORY_UNITS) :]
        streams = self.streams[: int(reduced[red.OUT_STREAMS])].copy()
        self.measure_groups(entries, streams)
        last = Unit._make(units[-1].tolist()) if num_units else None
        shown = units[kept[0]] if len(kept) else (units[-1] if num_units else None)
        for unit in units[kept[:DESCRIBED_UNITS]].tolist() + ([list(last)] if last else []):
            self.describe(unit[rd.U_SIG], entries, unit[rd.U_ENTRY])
        return RankDigest(
            artifact=artifact,
            rank=rank,
            version=self.optional_text(walked[col.OUT_VERSION]),
            comm_lib=self.optional_text(walked[col.OUT_COMM_LIB]),
            groups=self.group_rows(),
            counters=self.counter_rows(entries, backends),
            stream_names=backends.stream_names(
                [
                    (self.optional_text(row[rd.S_NAME]), self.optional_text(row[rd.S_DESC]))
                    for row in streams.tolist()
                ],
                self.recorders[: len(streams)].tolist(),
            ),
            streams=Streams(streams),
            history=OpenHistory(_build_past(recent, entries)),
            pending=Units(units[kept].copy()),
            members=Members(self.kept_members(kept)),
            pending_total=len(open_units),
            last_unit=last,
            stack=self.stack(entries, shown),
            num_entries=count,
            first_record_id=int(entries[0, col.RECORD_ID]) if count else 0,
            gaps=bool(count)
            and int(entries[-1, col.RECORD_ID]) - int(entries[0, col.RECORD_ID]) + 1 != count,
            first_created_ns=_present(reduced[red.OUT_FIRST_CREATED]),
            last_created_ns=_present(reduced[red.OUT_LAST_CREATED]),
            last_stamp_ns=_present(reduced[red.OUT_LAST_STAMP]),
            max_gap_ns=int(reduced[red.OUT_MAX_GAP]),
            eventless=eventless,
            has_entries=bool(walked[col.OUT_HAS_ENTRIES]),
            block_open=bool(reduced[red.OUT_BLOCK_OPEN]),
            partial=partial,
            notes=self.oddities(),
        )

    def reduce(
        self, entries: NDArray[np.int64], names: dict[int, OpName], backends: Backends
    ) -> None:
        """Streams and units of the entries."""
        size = int(self.scratch.out[ops.OUT_STRINGS]) + 1
        kinds = np.zeros(size, np.int8)
        uneven = np.zeros(size, np.int8)
        sign = np.zeros(size, np.int8)
        backend = np.zeros(size, np.int32)
        own = np.full(size, -1, np.int32)
        peer = np.full(size, -1, np.int32)
        op_hash = np.zeros(size, np.int64)
        for index, name in names.items():
            kinds[index] = name.kind
            uneven[index] = name.uneven
            sign[index] = backends.ends[index]
            backend[index] = backends.number[index]
            own[index] = name.own
            peer[index] = name.peer
            op_hash[index] = self.scratch.strings[index, 2]
        if len(self.units) < len(entries):
            self.units = np.empty((len(entries) + 1024, rd.UNIT_FIELDS), np.int64)
            self.marks = np.empty((len(entries) + 1024, red.MARK_FIELDS), np.int64)
        self.numbers_told, self.numbers_lost = fill_in(entries, kinds, backend)
        red.reduce_entries(
            entries,
            len(entries),
            kinds,
            uneven,
            own,
            peer,
            op_hash,
            sign,
            backend,
            self.marks,
            self.newest,
            self.recorders,
            self.streams,
            self.units,
            self.members,
            self.reduced,
        )
        if self.reduced[red.OUT_FULL] == 1:
            raise Forbidden(f"entries of more than {red.MAX_STREAMS:,} process groups")

    def kept_members(self, kept: NDArray[np.intp]) -> NDArray[np.int64]:
        """The p2p members of the kept pending units, renumbered to them."""
        members = self.members[: int(self.reduced[red.OUT_MEMBERS])]
        if not len(kept) or not len(members):
            return np.empty((0, rd.MEMBER_FIELDS), np.int64)
        at = np.searchsorted(kept, members[:, rd.M_UNIT])
        inside = (at < len(kept)) & (kept[np.minimum(at, len(kept) - 1)] == members[:, rd.M_UNIT])
        chosen: NDArray[np.int64] = members[inside].copy()
        chosen[:, rd.M_UNIT] = at[inside]
        return chosen

    def measure_groups(self, entries: NDArray[np.int64], streams: NDArray[np.int64]) -> None:
        """Sizes of groups whose table is empty (gloo), from all-gathers: output over input."""
        if self.walked[col.OUT_GROUPS] > 1 or len(streams) > 64:
            return
        looks = _MAX_MEASURED
        for stream in streams:
            rows = entries[
                (entries[:, col.PG_NAME] == stream[rd.S_NAME])
                & (entries[:, col.PG_DESC] == stream[rd.S_DESC])
            ]
            indexes, first = np.unique(rows[:, col.NAME], return_index=True)
            for index, at in zip(indexes.tolist(), first.tolist(), strict=True):
                if looks == 0 or "gather" not in self.short_text(index):
                    continue
                looks -= 1
                gathered = self.elements(rows[at], col.OUTPUT_SIZES)
                given = self.elements(rows[at], col.INPUT_SIZES)
                if given > 0 and gathered % given == 0 and 0 < gathered // given < MAX_RANK:
                    stream[rd.S_RATIO] = gathered // given

    def elements(self, row: NDArray[np.int64], column: int) -> int:
        """Elements of all tensors in a list of shapes."""
        if row[column] == rd.MISSING:
            return 0
        sizes = self.plain(ops.LIST, int(row[column]), 2)
        total = 0
        for shape in sizes if isinstance(sizes, list) else []:
            if isinstance(shape, list) and all(isinstance(n, int) for n in shape):
                number = 1
                for n in shape:
                    number *= n
                total += number
        return total

    def optional_text(self, index: int) -> str | None:
        """The string, or None for an index that stands for none."""
        return None if index < 0 else self.short_text(int(index))

    def key_text(self, index: int) -> str:
        """A dict key as text; integers are stored as negative indexes."""
        return self.short_text(index) if index >= 0 else str(-2 - index)

    def group_rows(self) -> tuple[GroupRow, ...]:
        """The rows of ``pg_config``."""
        rows = []
        lists: dict[int, tuple[int, ...] | None] = {-1: None}
        for key, name, desc, ranks in self.groups[: int(self.walked[col.OUT_GROUPS])].tolist():
            named = self.optional_text(name)
            ranks = max(ranks, -1)
            if ranks not in lists:
                lists[ranks] = self.rank_list(ranks)
            rows.append(
                GroupRow(
                    key=self.key_text(key),
                    name=self.key_text(key) if named is None else named,
                    desc=self.optional_text(desc) or "",
                    ranks=lists[ranks],
                )
            )
        return tuple(rows)

    def rank_list(self, index: int) -> tuple[int, ...] | None:
        """The ranks of a group, parsed once per text."""
        row = self.long.row_of(index)
        if row is not None:
            return self.long.ranks[row]
        offset, length, key = self.scratch.strings[index].tolist()
        text = self.buf[offset : offset + length]
        ranks = self.shared.ranks((key, length), text.tobytes())
        if length >= LONG_TEXT:
            self.long.add(text, key, ranks)
        return ranks

    def counter_rows(self, entries: NDArray[np.int64], backends: Backends) -> tuple[Counters, ...]:
        """The rows of ``pg_status``; none where they count what went through the dispatcher."""
        rows = tuple(
            Counters(self.key_text(key), _present(enqueued), _present(started), _present(completed))
            for key, enqueued, started, completed in self.status[
                : int(self.walked[col.OUT_STATUS])
            ].tolist()
        )
        enqueued = {row.key: row.enqueued for row in rows}
        return () if backends.count_dispatched(entries, enqueued) else rows

    def describe(self, sig: int, entries: NDArray[np.int64], entry: int) -> None:
        """Remember in words what the operation with signature ``sig`` is."""
        if sig in self.shared.operations:
            return
        row = entries[entry]
        name = parse_op_name(self.short_text(int(row[col.NAME])))
        self.shared.operations[sig] = OpDescription(
            op=name.op,
            sizes=self.list_text(row, col.INPUT_SIZES) or self.members_text(entries, entry),
            dtypes=self.list_text(row, col.INPUT_DTYPES),
            output_sizes=self.list_text(row, col.OUTPUT_SIZES),
            uneven=name.uneven,
        )

    def members_text(self, entries: NDArray[np.int64], closer: int) -> str:
        """The collectives of the coalesced block that this entry closes, in the order issued.

        Members must agree on their number and on each of them, so that what is not shown is
        there as a checksum.
        """
        texts = []
        for member in np.flatnonzero(self.marks[: len(entries), red.K_CLOSER] == closer).tolist():
            row = entries[member]
            name = parse_op_name(self.short_text(int(row[col.NAME])))
            if name.kind in (red.SEND, red.RECV):
                return ""
            sizes = [
                "" if name.uneven else self.list_text(row, column)
                for column in (col.INPUT_SIZES, col.OUTPUT_SIZES)
            ]
            words = (name.op, *sizes, self.list_text(row, col.INPUT_DTYPES))
            texts.append(" ".join(word for word in words if word))
        if len(texts) <= _SHOWN_MEMBERS:
            return f"{len(texts)} of ({'; '.join(texts)})" if texts else ""
        rest = zlib.crc32("; ".join(texts[_SHOWN_MEMBERS:]).encode("utf-8", "replace"))
        shown = "; ".join(texts[:_SHOWN_MEMBERS])
        return f"{len(texts)} of ({shown}; and others, checksum {rest:08x})"

    def list_text(self, row: NDArray[np.int64], column: int) -> str:
        """The first items of a list, for people."""
        if row[column] == rd.MISSING:
            return ""
        values = self.plain(ops.LIST, int(row[column]), 2)
        if not isinstance(values, list) or not values:
            return ""
        shown = ", ".join(str(value) for value in values[:4])
        return shown if len(values) <= 4 else f"{shown} and {len(values) - 4} more"

    def plain(self, tag: int, payload: int, depth: int) -> Any:
        """A value of the present dump as Python sees it; at most 64 items of a container."""
        if tag == ops.STR:
            return self.short_text(payload)
        if tag == ops.FLOAT:
            return float(np.int64(payload).view(np.float64))
        if tag not in (ops.LIST, ops.TUPLE, ops.DICT):
            return None if tag == ops.NONE else payload
        if depth == 0:
            return None
        scratch = self.scratch
        found: list[Any] = []
        chunk = int(scratch.containers[payload, 0])
        while chunk >= 0 and len(found) < 64:
            first, length, chunk = scratch.chunks[chunk].tolist()
            for k in range(first, first + min(length, 64 - len(found))):
                kind, value = int(scratch.cell_tag[k]), int(scratch.cell[k])
                found.append(self.plain(kind, value, depth - 1))
        if tag == ops.DICT:
            return dict(zip(found[::2], found[1::2], strict=False))
        return found

    def stack(
        self, entries: NDArray[np.int64], unit: NDArray[np.int64] | None
    ) -> tuple[Frame, ...]:
        """The stack of a unit, innermost call first."""
        if unit is None:
            return ()
        container = int(entries[unit[rd.U_ENTRY], col.FRAMES])
        if container == rd.MISSING:
            return ()
        self.work[0] = 0
        key = int(col.hash_frames(container, *self.scratch.values, self.work))
        known = self.shared.stacks.get(key)
        if known is None:
            frames = self.plain(ops.LIST, container, 2)
            known = tuple(_make_frame(one) for one in frames if isinstance(one, dict))
            self.shared.stacks[key] = known
        return known

    def oddities(self) -> tuple[str, ...]:
        """What was odd in a dump that was read all the same."""
        walked = self.walked
        odd: list[str] = []
        version = self.optional_text(walked[col.OUT_VERSION])
        if version is not None:
            odd += _list_version_oddities(version)
        if skipped := int(walked[col.OUT_SKIPPED]):
            odd.append(f"{skipped} items are no entries and were left out")
        if bad := int(walked[col.OUT_BAD_VALUES]):
            name = col.WALK_NAMES[int(walked[col.OUT_BAD_FIELD])]
            odd.append(
                f"{bad} values of an unexpected type were left out,"
                f' the first in entry {int(walked[col.OUT_BAD_ENTRY])}, "{name}"'
            )
        if lacking := int(self.reduced[red.OUT_NO_SEQ]):
            odd.append(f"{lacking} entries lack a sequence number")
        out = self.scratch.out
        if out[ops.OUT_ZERO_TAIL] and out[ops.OUT_CODE] != ops.CUT:
            odd.append("zeros follow the end of the dump")
        if self.numbers_told:
            told = "lack a sequence number that the entries beside them tell"
            odd.append(f"{self.numbers_told} entries {told}")
        return tuple(odd)


def _list_version_oddities(version: str) -> list[str]:
    """Where a version is none, or newer than those that were looked at."""
    major, dot, minor = version.partition(".")
    # Minor numbers are integers, no decimals.
    if not (dot and major.isascii() and major.isdigit() and minor.isascii() and minor.isdigit()):
        return [f'dump format "{version[:40]}" is no version number']
    if (int(major[:6]), int(minor[:6])) > _KNOWN:
        known = ".".join(map(str, _KNOWN))
        return [f"dump format {version} is newer than those known (up to {known})"]
    return []


def _build_past(units: NDArray[np.int64], entries: NDArray[np.int64]) -> Past:
    """The columns of some units that are kept of all."""
    durations = entries[units[:, rd.U_ENTRY], col.DURATION]
    timed = durations != rd.MISSING
    return Past(
        units[:, rd.U_STREAM].astype(np.int16),
        units[:, rd.U_SEQ].copy(),
        units[:, rd.U_SIG].copy(),
        units[:, rd.U_CREATED].copy(),
        units[:, rd.U_FLAGS].astype(np.uint8),
        _measure_creation_to_completion_us(units),
        np.where(timed, durations, -1).astype(np.int32) if timed.any() else None,
    )


def _measure_creation_to_completion_us(units: NDArray[np.int64]) -> NDArray[np.int32]:
    """From creation to the moment its end was noticed; -1 where either is unknown."""
    created, completed = units[:, rd.U_CREATED], units[:, rd.U_COMPLETED]
    known = (created != rd.MISSING) & (completed != rd.MISSING) & (completed >= created)
    waits = np.where(known, completed, 0) - np.where(known, created, 0)
    return np.where(known, np.minimum(waits // 1000, (1 << 31) - 1), -1).astype(np.int32)


def _make_frame(value: dict[Any, Any]) -> Frame:
    line = value.get("line")
    return Frame(
        name=str(value.get("name", "?"))[:200],
        filename=str(value.get("filename", "?"))[:400],
        line=line if isinstance(line, int) else 0,
    )


def _present(value: Any) -> int | None:
    return None if value == rd.MISSING else int(value)
