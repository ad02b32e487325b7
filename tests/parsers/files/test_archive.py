"""Dumps in gzip, zstd and tar, whole, cut and damaged."""

import bz2
import gzip
import io
import lzma
import random
import sys
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import zstandard

from tests.parsers.flight_recorder.dumps import DATA
from triage.errors import Corrupt, Forbidden
from triage.formats.dumps import read_dumps
from triage.parsers.files.archive import expand, is_tar, list_tar_members
from triage.parsers.files.compression import Expansion, Truncated, detect_compression, unpack_body
from triage.parsers.files.inputs import find_inputs
from triage.parsers.flight_recorder.dump_set import DumpSet

BOUNDS = Expansion(max_bytes=1 << 20)
FOLDER = DATA / "nccl-p2p-mismatch-w8"
PLAIN: Callable[[bytes], bytes] = bytes
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstandard.compress,
    "xz": partial(lzma.compress, preset=0),
    "bzip2": partial(bz2.compress, compresslevel=1),  # blocks of 100 kB
}
PACKERS = {"plain": PLAIN, **PACKED}


def tar(members: dict[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def dumps(inner: Callable[[bytes], bytes] = PLAIN) -> dict[str, bytes]:
    return {f"job/{path.name}": inner(path.read_bytes()) for path in sorted(FOLDER.iterdir())}


def read(path: Path) -> DumpSet:
    return read_dumps(find_inputs([path]).files)


def members(
    data: bytes, path: Path, compression: str | None = None
) -> list[tuple[str, int | None, str | None]]:
    path.write_bytes(data)
    return [
        (one.name, None if one.data is None else len(one.data), one.why)
        for one in list_tar_members(path, compression, BOUNDS)
    ]


@pytest.mark.parametrize("outer", PACKERS)
@pytest.mark.parametrize("inner", PACKERS)
@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_a_tar_of_dumps_is_read_whatever_packs_it(
    outer: str, inner: str, form: int, tmp_path: Path
) -> None:
    path = tmp_path / "incident.tar"
    path.write_bytes(PACKERS[outer](tar(dumps(PACKERS[inner]), form)))

    result = read(path)

    assert [digest.rank for digest in result.digests] == list(range(8))
    assert result.digests[3].artifact == "incident.tar/job/comm_lib_trace_rank_3"
    assert result.refused == []
    assert result.foreign == []


@pytest.mark.parametrize("name", ["x", "x.gz", "comm_lib_trace_rank_1", "incident.tar.bz2"])
def test_what_a_file_is_called_does_not_matter(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(gzip.compress(tar(dumps())))

    assert len(read(tmp_path).digests) == 8


@pytest.mark.parametrize(
    ("head", "kind"),
    [(b"\x1f\x8b\x08", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\x1f", None), (b"", None),
     (b"\xfd7zXZ\0", "xz"), (bz2.compress(b"x"), "bzip2"), (bz2.compress(b""), "bzip2"),
     (b"BZh9 is what bzip2 begins with", None), (b"\xfd7zXZ", None), (b"\x80\x02", None)],
)  # fmt: skip
def test_compression_is_known_by_its_first_bytes(head: bytes, kind: str | None) -> None:
    assert detect_compression(head) == kind


def test_a_tar_is_known_by_its_first_header() -> None:
    assert is_tar(tar({"a": b""}))
    assert not is_tar(tar({"a": b""})[:511])
    assert not is_tar(bytes(1024))


@pytest.mark.parametrize("outer", PACKERS)
def test_a_cut_tar_keeps_the_dumps_before_the_cut_and_part_of_the_last(
    outer: str, tmp_path: Path
) -> None:
    path = tmp_path / "incident.tar"
    noise = random.Random(1).randbytes(300_000)  # zstd gives whole blocks of 128 KiB
    data = PACKERS[outer](tar({**dumps(), "noise": noise, "more": noise[::-1]}))
    path.write_bytes(data[: len(data) // 2])

    result = read(path)

    assert len(result.digests) >= 7
    [refused] = result.refused
    assert refused.artifact == "incident.tar"
    assert "archive" in refused.why
    assert outer == "plain" or f": {outer} breaks off (at byte " in refused.why


@pytest.mark.parametrize("kind", PACKED)
def test_a_compressed_file_of_which_nothing_can_be_read_is_refused(
    kind: str, tmp_path: Path
) -> None:
    data = PACKERS[kind](random.Random(1).randbytes(100_000))
    (tmp_path / "incident.tar.x").write_bytes(data[:10] + bytes(2000))
    (tmp_path / "empty").write_bytes(PACKERS[kind](b""))

    result = read(tmp_path)

    [refused] = result.refused
    assert refused.why == f"{kind} cannot be read: damaged, or cut off at the start"
    assert result.foreign == ["empty"]


def test_a_tar_whose_first_block_is_large_is_known(tmp_path: Path) -> None:
    noise = random.Random(1).randbytes(200_000)
    (tmp_path / "x").write_bytes(zstandard.compress(tar({"noise": noise, **dumps()})))

    assert len(read(tmp_path).digests) == 8


def test_the_member_at_the_cut_gives_its_bytes(tmp_path: Path) -> None:
    data = tar({"a": b"a" * 5000, "b": b"b" * 5000})
    start = data.index(b"b" * 100)

    found = members(data[: start + 700], tmp_path / "x")

    assert found == [
        ("a", 5000, None), ("b", 700, None),
        ("", None, "the archive breaks off in the middle of a file"),
    ]  # fmt: skip


def test_a_damaged_header_is_no_end(tmp_path: Path) -> None:
    data = bytearray(tar({"a": b"a" * 100, "b": b"b" * 100, "c": b"c" * 100}))
    data[1024 + 5] ^= 1

    found = members(bytes(data), tmp_path / "x")

    assert found[0] == ("a", 100, None)
    assert found[1] == ("", None, "the archive breaks off: bad checksum")


def test_a_tar_cut_between_two_members_says_so(tmp_path: Path) -> None:
    data = tar({"a": b"a" * 100, "b": b"b" * 100})

    found = members(data[:1024], tmp_path / "x")

    assert found[1:] == [
        ("", None, "the archive ends without its end mark: files may be missing")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../a", "leaves"), ("a/../../b", "leaves"), ("/etc/passwd", "leaves"), ("..", "leaves"),
        ("x" * 256, "256 characters"), ("d/" * 2100 + "x", "4,201 characters"),
    ],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_a_name_that_leads_astray_is_refused(name: str, why: str, tmp_path: Path) -> None:
    [(shown, data, reason)] = members(tar({name: b"x"}), tmp_path / "x")

    assert data is None
    assert reason is not None
    assert why in reason
    assert len(shown) < 300


@pytest.mark.parametrize("name", ["..a", "a..b/c", "a/...", "./a", "\u202ea", "a\nb"])
def test_a_name_that_only_looks_so_is_kept(name: str, tmp_path: Path) -> None:
    assert members(tar({name: b"x"}), tmp_path / "x") == [(name, 1, None)]


def test_a_member_beyond_the_limit_is_refused_and_the_next_one_read(tmp_path: Path) -> None:
    found = members(tar({"a": bytes((1 << 20) + 1), "b": b"x"}), tmp_path / "x")

    assert found[0] == ("a", None, "1,048,577 bytes; more than 1,048,576")
    assert found[1] == ("b", 1, None)


@pytest.mark.parametrize("kind", PACKED)
def test_expansion_stops_at_the_limit(kind: str) -> None:
    data = PACKERS[kind](bytes((1 << 20) + 1))

    with pytest.raises(Forbidden, match="more than 1,048,576 bytes"):
        expand(io.BytesIO(data), kind, BOUNDS)


@pytest.mark.parametrize("kind", PACKED)
def test_expansion_stops_at_the_ratio(kind: str) -> None:
    data = PACKERS[kind](bytes(20 << 20))

    with pytest.raises(Forbidden, match="200-fold"):
        expand(io.BytesIO(data), kind, Expansion(max_bytes=1 << 30))


@pytest.mark.parametrize("kind", PACKED)
def test_a_stream_that_breaks_off_gives_what_came_before(kind: str) -> None:
    plain = random.Random(1).randbytes(600_000)
    data = PACKERS[kind](plain)
    cut = 400_000

    found = expand(io.BytesIO(data[:cut]), kind, BOUNDS)

    assert 100_000 < len(found) < 600_000
    assert plain.startswith(found)


@pytest.mark.parametrize(("kind", "place"), [("gzip", -8), ("xz", -30), ("bzip2", -4)])
def test_content_with_a_wrong_checksum_is_refused(kind: str, place: int) -> None:
    data = bytearray(PACKED[kind](b"x" * 1000))
    data[place] ^= 1

    with pytest.raises(Corrupt, match=f"{kind} is damaged"):
        expand(io.BytesIO(bytes(data)), kind, BOUNDS)


@pytest.mark.parametrize("kind", PACKED)
def test_every_cut_and_every_size_of_reading_is_told_from_the_whole(kind: str) -> None:
    plain = random.Random(1).randbytes(300)
    data = PACKED[kind](plain)
    for cut in range(15, len(data)):
        reader = unpack_body(io.BytesIO(data[:cut]), kind, BOUNDS)
        found: list[bytes] = []
        with pytest.raises(Truncated, match=f"{kind} breaks off"):
            found.extend(iter(lambda: reader.read(1 + cut % 9), b""))  # noqa: B023
        assert plain.startswith(b"".join(found))
    reader = unpack_body(io.BytesIO(data + bytes(512)), kind, BOUNDS)
    if kind != "zstd":
        assert b"".join(iter(lambda: reader.read(7), b"")) == plain


def test_an_xz_decoder_has_its_bound_of_memory() -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 16 << 20}]
    data = lzma.compress(b"x" * 99, filters=filters)
    small = Expansion(max_bytes=1 << 20, window_bytes=8 << 20)

    assert expand(io.BytesIO(data), "xz", BOUNDS) == b"x" * 99
    with pytest.raises(Forbidden, match="xz needs more than 8 MiB"):
        expand(io.BytesIO(data), "xz", small)
    # The default level of xz keeps 8 MiB.
    assert expand(io.BytesIO(lzma.compress(b"x", preset=6)), "xz", small) == b"x"


@pytest.mark.parametrize(("kind", "library"), [("xz", "lzma"), ("bzip2", "bz2")])
def test_a_python_without_the_library_says_so_of_such_files_alone(
    kind: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)

    assert expand(io.BytesIO(gzip.compress(b"x")), "gzip", BOUNDS) == b"x"
    with pytest.raises(Forbidden, match=f"{kind} is not read: this Python has no {library}"):
        expand(io.BytesIO(PACKED[kind](b"x")), kind, BOUNDS)


def test_a_flood_of_empty_streams_ends() -> None:
    data = lzma.compress(b"", preset=0)
    many = io.BytesIO(data * 2 + b"other")

    with pytest.raises(Truncated, match="other bytes follow the xz stream"):
        expand(many, "xz", BOUNDS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("triage.parsers.files.compression.MAX_STREAMS", 50)
        with pytest.raises(Forbidden, match="more than 50 xz streams"):
            expand(io.BytesIO(data * 51), "xz", BOUNDS)


def test_files_in_several_parts_are_read_to_the_end() -> None:
    for kind, pack in PACKERS.items():
        if kind != "plain":
            data = pack(b"one") + pack(b"") + pack(b"two")
            assert expand(io.BytesIO(data), kind, BOUNDS) == b"onetwo"
