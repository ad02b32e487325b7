"""Stored extracts: whatever a digest holds comes back, and damage is found."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.parsers.extract.test_extract import files_of, same
from triage.domain.evidence import NO_STAMP, Evidence, EvidenceRole, Kind, Stamp
from triage.domain.exact_json import from_exact_json, to_exact_json
from triage.domain.rank_digest import (
    M_UNIT,
    MEMBER_FIELDS,
    P2P,
    S_LAST,
    STREAM_FIELDS,
    U_STREAM,
    UNIT_FIELDS,
    Counters,
    Frame,
    GroupRow,
    Members,
    OpDescription,
    OpenHistory,
    Past,
    Streams,
    Unit,
    Units,
)
from triage.errors import Corrupt
from triage.formats.extractor import Extractor
from triage.parsers.extract.digest import Interned, decode_runs, encode_runs
from triage.parsers.extract.extract import Extract
from triage.parsers.extract.history import PackedHistory, pack_past
from triage.parsers.extract.wire import MAGIC, pack, unpack
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.logset import LogFile, LogKind

INCIDENTS = Path(__file__).parents[2] / "incidents"
DATA = INCIDENTS.with_name("data")
LOW = (1 << 32) - 1  # what is stored of a number whose group is not counted further
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
TEXT = st.text(st.characters(exclude_categories=()), max_size=8)  # lone surrogates too


@pytest.fixture(scope="module")
def dump() -> Extract:
    found = Extractor().extract(files_of(DATA / "nccl-p2p-mismatch-w8"))
    return next(one for one in found if one.digests and len(one.digests[0].members))


@pytest.fixture(scope="module")
def log() -> Extract:
    folder = INCIDENTS / "logs-hbm-w8" / "files"
    found = Extractor().extract(files_of(folder))
    return max(found, key=lambda one: sum(len(log.rows) for log in one.logs))


def sealed(plain: bytes) -> bytes:
    return MAGIC + zstandard.ZstdCompressor(write_checksum=True).compress(plain)


def opened(data: bytes) -> tuple[list[object], bytes]:
    """The header and what stands behind it."""
    plain = zstandard.ZstdDecompressor().decompress(data[4:])
    begin = 4 + int.from_bytes(plain[:4], "little")
    return from_exact_json(plain[4:begin]), plain[begin:]


def rebuilt(header: object, rest: bytes) -> bytes:
    text = to_exact_json(header)
    return sealed(len(text).to_bytes(4, "little") + text + rest)


@st.composite
def digests(draw: st.DrawFn, base: Extract) -> Extract:
    """The digest of ``base`` with other arrays and texts."""
    streams = draw(st.integers(1, 3))
    units = draw(st.integers(0, 4))
    pending = draw(st.integers(0, 3))
    members = draw(st.integers(0, 3)) if pending else 0

    def wide(rows: int, columns: int) -> np.ndarray:
        return draw(hnp.arrays(np.int64, (rows, columns), elements=INT64))

    groups = wide(streams, STREAM_FIELDS)
    groups[:, S_LAST] &= LOW
    open_units, inside = wide(pending, UNIT_FIELDS), wide(members, MEMBER_FIELDS)
    open_units[:, U_STREAM] %= streams
    inside[:, M_UNIT] %= max(pending, 1)
    last = draw(st.none() | st.lists(INT64, min_size=UNIT_FIELDS, max_size=UNIT_FIELDS))
    if last is not None:
        last[U_STREAM] %= streams
    ranks = st.none() | st.lists(st.integers(0, 9_999_999), unique=True, max_size=6).map(tuple)
    known = st.none() | INT64
    digest = replace(
        base.digests[0],
        artifact=draw(TEXT),
        rank=draw(st.integers(-1, 9_999_999)),
        version=draw(st.none() | TEXT),
        groups=tuple(draw(st.lists(st.builds(GroupRow, TEXT, TEXT, TEXT, ranks), max_size=3))),
        counters=tuple(
            draw(st.lists(st.builds(Counters, TEXT, known, known, known), max_size=3))
        ),
        stream_names=tuple(
            draw(
                st.lists(
                    st.tuples(st.none() | TEXT, st.none() | TEXT),
                    min_size=streams, max_size=streams,
                )
            )
        ),
        streams=Streams(groups),
        history=OpenHistory(
            Past(
                draw(hnp.arrays(np.int16, units, elements=st.integers(0, streams - 1))),
                draw(hnp.arrays(np.int64, units, elements=st.integers(0, LOW))),
                *(draw(hnp.arrays(np.int64, units)) for _ in range(2)),
                *(draw(hnp.arrays(dtype, units)) for dtype in (np.uint8, np.int32)),
                draw(st.none() | hnp.arrays(np.int32, units, elements=st.integers(0, 1 << 30)))
                if units
                else None,
            )
        ),
        pending=Units(open_units),
        members=Members(inside),
        last_unit=None if last is None else Unit._make(last),
        stack=tuple(draw(st.lists(st.builds(Frame, TEXT, TEXT, INT64), max_size=2))),
        first_created_ns=draw(known),
        gaps=draw(st.booleans()),
        partial=draw(st.none() | TEXT),
        notes=tuple(draw(st.lists(TEXT, max_size=2))),
    )  # fmt: skip
    described = st.builds(OpDescription, TEXT, TEXT, TEXT, TEXT, st.booleans())
    return Extract(
        draw(TEXT),
        draw(st.integers(0, 1 << 40)),
        (digest,),
        draw(st.dictionaries(INT64, described, max_size=2)),
    )


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_any_digest_comes_back(dump: Extract, data: st.DataObject) -> None:
    one = data.draw(digests(dump))
    for compact in (False, True):
        found = unpack(pack(one, compact=compact))
        assert same(replace(found, operations=dict(found.operations)), one)
        history, given = found.digests[0].history, one.digests[0].history
        assert isinstance(history, PackedHistory)  # its flags are told without unpacking it
        assert history.any_finished == given.any_finished
        assert history.any_fresh == given.any_fresh
        for array in filter(lambda some: some is not None, found.digests[0].history.read()):
            assert array.flags.writeable  # arrays that are not would be compiled for once more
            assert array.flags.aligned
    assert same(pack_past(one.digests[0].history.read()), one.digests[0].history)


@settings(deadline=None)
@given(
    texts=st.lists(TEXT, min_size=5, max_size=5),
    wall=st.none() | st.integers(-(1 << 70), 1 << 70),
    fields=st.dictionaries(TEXT, TEXT, max_size=2),
    masks=st.lists(st.tuples(st.binary(max_size=6), st.integers(1, 9), INT64, INT64), max_size=3),
    last=st.booleans(),
)
def test_any_log_comes_back(
    texts: list[str], wall: int | None, fields: dict[str, str], masks: list, last: bool
) -> None:
    stamp = Stamp(wall, None, False, -3600, 7)
    row = Evidence(
        texts[0], 3, texts[1], Kind.XID, EvidenceRole.ROOT, texts[2], node=texts[3],
        stamp=stamp, last_stamp=stamp if last else NO_STAMP, fields=fields,
    )  # fmt: skip
    file = LogFile(texts[4], LogKind.KERNEL, None, 9, {texts[1]: 2}, notes=(texts[0],))
    one = Extract("a", 1, logs=(Outcome(file, [row], masks, 12, 3),))
    assert same(unpack(pack(one)), one)


@given(st.lists(st.integers(0, 9_999_999), unique=True, max_size=12))
def test_ranks_come_back_from_runs(ranks: list[int]) -> None:
    text = encode_runs(tuple(ranks))
    assert text is not None
    assert decode_runs(text, Interned()) == tuple(ranks)


@pytest.mark.parametrize(
    ("ranks", "text"),
    [
        ((), ""),
        ((5,), "5+0*1"),
        (tuple(range(16384)), "0+1*16384"),
        ((0, 8, 16), "0+8*3"),
        ((7, 6, 5), "7+-1*3"),
        ((0, 1, 2, 8, 9, 10), "0+1*3,8+1*3"),
    ],
)
def test_groups_are_written_as_runs(ranks: tuple[int, ...], text: str) -> None:
    assert encode_runs(ranks) == text
    assert decode_runs(text, Interned()) == ranks


@pytest.mark.parametrize(
    "text", ["0+1*0", "0+1*-4", "-1+1*2", "0+1*99999999999", "x", "0+1", "9999999+1*2", "0+1*2,"]
)
def test_runs_of_no_ranks_are_damage(dump: Extract, text: str) -> None:
    header, rest = opened(pack(dump, timed=False))
    header[2][0][1][0][3] = text  # type: ignore[index]
    with pytest.raises(Corrupt):
        unpack(rebuilt(header, rest))


def test_many_long_groups_in_a_few_bytes_are_damage(dump: Extract) -> None:
    header, rest = opened(pack(dump, timed=False))
    row = header[2][0][1][0]  # type: ignore[index]
    header[2][0][1] = [[*row[:3], f"{k}+1*5000000"] for k in range(4)]  # type: ignore[index]
    with pytest.raises(Corrupt, match="more ranks than any job"):
        unpack(rebuilt(header, rest))


def test_every_cut_and_every_flipped_byte_is_found(dump: Extract) -> None:
    data = pack(dump)
    chance = random.Random(1)
    for size in {0, 3, 4, 5, len(data) - 1, *chance.sample(range(len(data)), 60)}:
        with pytest.raises(Corrupt):
            unpack(data[:size])
    for at in {0, 1, 2, 3, *chance.sample(range(4, len(data)), 200)}:
        bad = bytearray(data)
        bad[at] ^= 1 << chance.randrange(8)
        try:
            found = unpack(bytes(bad))
        except Corrupt:
            continue
        assert same(found, unpack(data))  # a bit of the frame that means nothing


@pytest.mark.parametrize("which", ["dump", "log"])
def test_whatever_stands_in_a_whole_frame_is_an_extract_or_damage(
    which: str, request: pytest.FixtureRequest
) -> None:
    data = pack(request.getfixturevalue(which))
    plain = zstandard.ZstdDecompressor().decompress(data[4:])
    chance = random.Random(2)
    found = 0
    for _ in range(1500):
        bad = bytearray(plain)
        for _ in range(chance.choice((1, 2, 8))):
            bad[chance.randrange(chance.choice((12, 400, len(bad))))] = chance.randrange(256)
        if chance.random() < 0.2:
            del bad[chance.randrange(len(bad)) :]
        try:
            unpack(sealed(bytes(bad)))
        except Corrupt:
            found += 1
    assert found > 100


@pytest.mark.parametrize(
    ("column", "value"),
    [("stream", 99), ("stream", -1), ("pending", 99), ("pending", -1), ("last", 99)],
)
def test_an_index_that_leads_out_of_its_array_is_damage(
    dump: Extract, column: str, value: int
) -> None:
    digest = dump.digests[0]
    if column == "last":
        assert digest.last_unit is not None
        bad = replace(digest, last_unit=digest.last_unit._replace(stream=value))
    elif column == "pending":
        rows = digest.pending.values.copy()
        rows[0, U_STREAM] = value
        bad = replace(digest, pending=Units(rows))
    else:
        past = digest.history.read()
        streams = past.stream.copy()
        streams[0] = value
        bad = replace(digest, history=OpenHistory(past._replace(stream=streams)))
    for compact in (False, True):
        with pytest.raises(Corrupt, match="does not have"):
            unpack(pack(replace(dump, digests=(bad,)), compact=compact))


def test_counters_of_one_dump_leave_those_of_another_as_they_are(dump: Extract) -> None:
    digest, interned = dump.digests[0], Interned()
    for values in ((1, 1, 1), (1.0, 1, 1), (True, 1, 1), (1, 1, 1), (2, None, -1)):
        counters = (Counters("0", *values),)  # type: ignore[arg-type]
        one = replace(dump, digests=(replace(digest, counters=counters),))
        found = unpack(pack(one), interned).digests[0].counters
        assert repr(found) == repr(counters)


def test_counters_that_many_ranks_share_are_kept_once(dump: Extract) -> None:
    interned, data = Interned(), pack(dump)
    first, second = (unpack(data, interned).digests[0] for _ in range(2))
    assert dump.digests[0].counters
    assert first.counters is second.counters
    assert all(
        one is other for one, other in zip(first.stream_names, second.stream_names, strict=True)
    )


def test_a_frame_that_declares_more_than_it_holds_allocates_nothing(dump: Extract) -> None:
    lying = zstandard.ZstdCompressor().compress(b"x" * 100)
    # Frame header descriptor of eight bytes of size: 2**62 bytes are declared.
    huge = lying[:4] + b"\xe0" + (1 << 62).to_bytes(8, "little") + lying[6:]
    for data in (huge, b"", lying):
        with pytest.raises(Corrupt):
            unpack(MAGIC + data)


def test_a_later_version_is_named_as_unknown() -> None:
    with pytest.raises(Corrupt, match="known version"):
        unpack(b"TRX\x06" + pack(Extract("a", 1))[4:])


@pytest.mark.parametrize("highest", [1 << 31, (1 << 32) + 7, (1 << 40) + (1 << 31)])
@pytest.mark.parametrize("compact", [False, True])
def test_numbers_come_back_that_need_more_than_32_bits(
    dump: Extract, highest: int, *, compact: bool
) -> None:
    digest = dump.digests[0]
    past = digest.history.read()
    raised = past.seq + highest - int(past.seq.max())
    streams = digest.streams.values.copy()
    streams[:, S_LAST] = highest
    collective = past._replace(seq=raised, flags=past.flags & ~np.uint8(P2P))
    one = replace(
        dump,
        digests=(replace(digest, streams=Streams(streams), history=OpenHistory(collective)),),
    )
    (found,) = unpack(pack(one, compact=compact)).digests
    assert found.history.read().seq.tolist() == raised.tolist()
    again = pack_past(found.history.read(), streams[:, S_LAST]).read()
    assert again.seq.tolist() == raised.tolist()
