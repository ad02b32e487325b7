"""Bodies to packs: what is kept, what is refused, and how much that may cost."""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import random
import tarfile
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.errors import Refusal, TooLarge, Unprocessable, Unsupported
from triage.services.receive import (
    Identity,
    Member,
    ReceiveLimits,
    receive_bundle,
    receive_file,
    write_plain,
)
from triage.store.blobs import blobs_from

STRAGGLER = Path(__file__).parents[1] / "incidents" / "nccl-straggler-w8" / "fr"
DUMP = (STRAGGLER / "comm_lib_trace_rank_3").read_bytes()
OTHER_DUMP = (STRAGGLER / "comm_lib_trace_rank_4").read_bytes()
DMESG = b"".join(
    b"[ %5d.%06d] NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.\n" % (k, k)
    for k in range(100)
)
JOB_LOG = b"".join(
    b"2026-11-21 10:00:%02d [rank3]: step %d loss 2.1\n" % (k % 60, k) for k in range(99)
)
# Put together here, so that no scanner takes it for one that was lost.
SECRET = b"hf_" + b"aB3dE6gH9j" * 4
SMALL = ReceiveLimits(
    artifact_bytes=1 << 20, dump_bytes=1 << 19, bundle_bytes=3 << 20, members=20,
    ratio=20, ratio_floor_bytes=1 << 17,
)  # fmt: skip


def tar_of(*files: tuple[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=form) as archive:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def special(name: str, kind: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        info = tarfile.TarInfo(name)
        info.type = kind
        info.linkname = "/etc/passwd"
        archive.addfile(info)
    return packed.getvalue()


class Desk:
    """One store, and the packs that requests become in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.blobs = blobs_from(None, folder, min_free_bytes=0)
        self.count = 0

    def file(self, body: bytes, step: int = 1 << 20, **given) -> Member:
        asked = {"encoding": None, "filename": None, "node": None, "rank": None, "kind": None}
        asked |= {"limits": ReceiveLimits()} | given
        blob = self.begin()
        try:
            member = receive_file(reader(body, step), blob=blob, **asked)
            blob.commit()
        finally:
            blob.abort()
        return member

    def bundle(self, body: bytes, step: int = 1 << 20, known=(), **given) -> list[Member]:
        asked = {"encoding": None, "node": None, "limits": ReceiveLimits()} | given
        blob = self.begin()
        try:
            found = list(
                receive_bundle(
                    reader(body, step), blob=blob, known=lambda one: one in known, **asked
                )
            )
            blob.commit()
        finally:
            blob.abort()
        return found

    def begin(self):
        self.count += 1
        return self.blobs.begin(f"pack-{self.count}")

    def plain(self, *members: Member) -> list[bytes]:
        out = self.folder / f"plain-{self.count}-{len(list(self.folder.iterdir()))}"
        out.mkdir()
        paths = write_plain(self.blobs, f"pack-{self.count}", members, out)
        return [path.read_bytes() for path in paths]

    def files(self) -> list[Path]:
        return [path for path in (self.folder / "blobs").rglob("*") if path.is_file()]


def reader(body: bytes, step: int):
    stream = io.BytesIO(body)
    return lambda size: stream.read(min(size, step))


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def zip_of(data: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("job.log", data)
    return packed.getvalue()


# What the test machine has no packer for is written by hand: its magic, and the plain secret.
FURTHER = {
    "gzip, inside gzip": lambda data: gzip.compress(gzip.compress(data)),
    "gzip, inside zstd": lambda data: zstandard.compress(gzip.compress(data)),
    "zstd, inside gzip": lambda data: gzip.compress(zstandard.compress(data)),
    "xz": lzma.compress,
    "xz, inside gzip": lambda data: gzip.compress(lzma.compress(data)),
    "lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
    "bzip2": bz2.compress,
    "zip": zip_of,
    "7-Zip": lambda data: b"7z\xbc\xaf\x27\x1c\0\4" + data,
    "RAR": lambda data: b"Rar!\x1a\x07\x01\0" + data,
    "lz4": lambda data: b"\x04\x22\x4d\x18\x60\x40\x82" + data,
    "compress": lambda data: b"\x1f\x9d\x90" + data,
}


class TestFile:
    @pytest.mark.parametrize(
        ("data", "name", "kind", "rank"),
        [
            (DUMP, "comm_lib_trace_rank_3", "flight_recorder", 3),
            (DUMP, "trace", "flight_recorder", None),
            (DMESG, "dmesg-12.log", "kernel_log", None),
            (JOB_LOG, "rank_3.log", "job_log", None),
            (b"", "comm_lib_trace_rank_5", "flight_recorder", 5),
            (b"", "empty.log", "job_log", None),
            (b"\x7fELF" + bytes(range(256)), "core", "job_log", None),
        ],
        ids=["dump", "unnamed", "kernel", "job", "empty dump", "empty log", "binary"],
    )
    def test_tells_kind_and_rank_and_gives_the_bytes_back(self, desk, data, name, kind, rank):
        member = desk.file(data, filename=name)

        assert (member.kind, member.rank) == (kind, rank)
        assert member.sha256 == hashlib.sha256(data).hexdigest()
        assert member.size_bytes == len(data)
        assert member.stored_bytes > 0
        assert desk.plain(member) == [data]

    @pytest.mark.parametrize("inner", [None, gzip.compress, zstandard.compress])
    @pytest.mark.parametrize(
        ("encoding", "outer"),
        [(None, None), ("identity", None), ("gzip", gzip.compress), ("X-GZIP", gzip.compress),
         ("zstd", zstandard.compress)],
    )  # fmt: skip
    def test_takes_every_packing_and_hashes_what_lies_behind_the_encoding(
        self, desk, encoding, outer, inner
    ):
        file = inner(DUMP) if inner else DUMP
        body = outer(file) if outer else file

        member = desk.file(body, encoding=encoding, filename="trace_rank_3.gz")

        assert member.sha256 == hashlib.sha256(file).hexdigest()
        assert (member.size_bytes, member.plain_bytes) == (len(file), len(DUMP))
        assert desk.plain(member) == [DUMP]

    def test_reads_several_parts_as_one_stream(self, desk):
        halves = (DUMP[:70_000], DUMP[70_000:])
        for pack, encoding in ((gzip.compress, "gzip"), (zstandard.compress, "zstd")):
            body = b"".join(pack(half) for half in halves)
            member = desk.file(body, encoding=encoding, filename="rank_3")
            assert desk.plain(member) == [DUMP]
        member = desk.file(gzip.compress(DUMP) + bytes(512), encoding="gzip")
        assert desk.plain(member) == [DUMP]

    def test_the_frame_says_how_long_its_content_is(self, desk):
        member = desk.file(DUMP)
        frame = desk.blobs.read("pack-1", member.offset, member.stored_bytes)

        assert zstandard.frame_content_size(frame) == len(DUMP)

    @pytest.mark.parametrize("encoding", ["br", "deflate", "gzip, zstd", "gzip,gzip", "x" * 9999])
    def test_refuses_encodings_it_does_not_read(self, desk, encoding):
        with pytest.raises(Unsupported) as caught:
            desk.file(DUMP, encoding=encoding)
        assert "gzip or zstd" in caught.value.hint

    @pytest.mark.parametrize("encoding", ["gzip", "zstd"])
    @pytest.mark.parametrize("damage", ["lie", "cut", "flip", "behind", "nothing"])
    def test_refuses_a_damaged_encoding_and_keeps_nothing(self, desk, encoding, damage):
        pack = {
            "gzip": gzip.compress,
            "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
        }
        body = pack[encoding](DUMP)
        bad = {
            "lie": DUMP,
            "cut": body[:-1],
            "flip": body[:5000] + bytes([body[5000] ^ 255]) + body[5001:],
            "behind": body + b"more and more",
            "nothing": b"",
        }[damage]
        if damage == "nothing" and encoding == "zstd":
            pytest.skip("no frames at all are an empty body")

        with pytest.raises(Unprocessable, match="body"):
            desk.file(bad, encoding=encoding)
        assert desk.files() == []

    def test_refuses_every_cut_of_a_zstd_body(self, desk):
        body = zstandard.ZstdCompressor(write_checksum=True).compress(os.urandom(300_000))
        body += zstandard.compress(b"second")
        for cut in [*range(1, 40), *range(len(body) - 25, len(body)), 131_075, 262_160]:
            if cut == len(body) - len(zstandard.compress(b"second")):
                continue
            with pytest.raises(Unprocessable):
                desk.file(body[:cut], encoding="zstd")

    def test_content_wins_over_the_declared_kind(self, desk):
        member = desk.file(DUMP, kind="kernel_log")
        assert member.kind == "flight_recorder"
        assert "declared as a kernel log" in member.note
        assert member.declared_kind == "kernel_log"
        assert "its content is a kernel log" in desk.file(DMESG, kind="job_log").note
        assert desk.file(b"", kind="flight_recorder").kind == "flight_recorder"
        assert desk.file(b"\x7fELF\0\1\2", kind="kernel_log").kind == "kernel_log"
        assert desk.file(DMESG, kind="kernel_log").note == ""

    def test_the_request_says_rank_and_node_before_the_name(self, desk):
        member = desk.file(DUMP, filename="nodes/n7/trace_rank_3", rank=11, node="other")
        assert (member.rank, member.node, member.filename) == (11, "other", "trace_rank_3")
        member = desk.file(DUMP, filename="nodes/n7/trace_rank_3")
        assert (member.rank, member.node) == (3, "n7")
        assert "rank unknown" in desk.file(DUMP, filename="dump").note

    def test_refuses_an_archive_and_says_where_it_belongs(self, desk):
        body = tar_of(("a.log", JOB_LOG))
        for one in (body, gzip.compress(body), zstandard.compress(body)):
            with pytest.raises(Unprocessable, match="tar") as caught:
                desk.file(one)
            assert "bundle" in caught.value.hint

    @pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
    def test_refuses_bombs_while_they_expand(self, desk, pack):
        bomb = pack(bytes(1 << 28))
        for encoding in (None, {gzip.compress: "gzip"}.get(pack, "zstd")):
            with pytest.raises(TooLarge):
                desk.file(bomb, encoding=encoding)
        assert desk.files() == []

    def test_refuses_what_is_too_long(self, desk):
        noise = random.Random(1).randbytes(SMALL.artifact_bytes + 1)
        assert desk.file(noise[1:], limits=SMALL).plain_bytes == SMALL.artifact_bytes
        for body in (noise, zstandard.compress(noise), gzip.compress(noise, 1)):
            with pytest.raises(TooLarge):
                desk.file(body, limits=SMALL)
        with pytest.raises(TooLarge):
            desk.file(DUMP[:2] + noise[: SMALL.dump_bytes], limits=SMALL)

    def test_refuses_a_window_that_no_encoding_needs(self, desk):
        big = zstandard.ZstdCompressor(
            compression_params=zstandard.ZstdCompressionParameters(window_log=27)
        ).compressobj()
        body = big.compress(os.urandom(1000)) + big.flush()

        with pytest.raises(Unprocessable):
            desk.file(body, encoding="zstd")

    def test_keeps_what_came_before_a_cut_within_a_file(self, desk):
        for pack in (gzip.compress, zstandard.compress):
            member = desk.file(pack(os.urandom(9) + JOB_LOG * 500)[:-9], filename="trace_rank_3")
            assert "kept up to there" in member.note

    def test_removes_secrets_before_anything_is_written(self, desk):
        text = JOB_LOG * 3000 + b"HF_TOKEN=" + SECRET + b"\n" + JOB_LOG
        for body, encoding in (
            (text, None),
            (gzip.compress(text), None),
            (gzip.compress(text), "gzip"),
            (text.decode().encode("utf-16"), None),
        ):
            member = desk.file(body, encoding=encoding, kind="job_log")
            assert sum(member.redacted.values()) == 1
            [plain] = desk.plain(member)
            assert b"HF_TOKEN=[redacted:hf_token]\n" in plain
            assert plain.count(b"\n") == text.count(b"\n")
            assert member.plain_bytes == len(plain)
        for path in desk.files():
            pack = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read()
            assert SECRET not in pack
            assert SECRET not in path.read_bytes()

    def test_never_touches_the_bytes_of_a_dump(self, desk):
        data = DUMP + b"\nHF_TOKEN=" + SECRET + b"\n"
        assert desk.plain(desk.file(data)) == [data]

    def test_a_name_is_only_shown(self, desk):
        name = "../../etc/\0\r\n\x1b[31m" + "x" * 5000
        member = desk.file(JOB_LOG, filename=name)

        assert not any(ord(one) < 32 for one in member.name)
        assert len(member.name) <= 1024
        assert ".." not in member.filename.split("/")
        assert desk.file(DUMP, rank=4).filename == "trace_rank_4"
        assert desk.file(JOB_LOG).filename == "upload.log"

    def test_takes_little_memory(self, desk):
        body = zstandard.compress(DUMP[:2] + random.Random(1).randbytes(40 << 20))
        desk.file(DUMP)
        tracemalloc.start()
        try:
            desk.file(body, encoding="zstd")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 8 << 20


FILES = (
    ("nodes/n1/trace_rank_3", DUMP),
    ("nodes/n1/dmesg.log.gz", gzip.compress(DMESG)),
    ("nodes/n2/trace_rank_4.zst", zstandard.compress(OTHER_DUMP)),
    ("./job.log", JOB_LOG + b"HF_TOKEN=" + SECRET + b"\n"),
    ("empty_trace_rank_9", b""),
    ("job.json", b'{"job_id": "7"}'),
)


class TestPackedFurther:
    """What cannot be looked through for secrets is refused, and no byte of it is stored."""

    @pytest.mark.parametrize("name", ["job.log", "comm_lib_trace_rank_3", "dump_3.gz"])
    @pytest.mark.parametrize(("packing", "pack"), FURTHER.items(), ids=FURTHER)
    def test_a_file_is_refused_with_what_to_do(self, desk, packing, pack, name):
        packed = pack(JOB_LOG + b"HF_TOKEN=" + SECRET + b"\n")
        with pytest.raises(Unprocessable) as caught:
            desk.file(packed, filename=name)
        assert caught.value.detail == f"the file is packed with {packing}"
        assert caught.value.hint == "send it unpacked, or packed once with gzip or zstd"
        assert desk.files() == []

    @pytest.mark.parametrize(("packing", "pack"), FURTHER.items(), ids=FURTHER)
    def test_a_member_is_refused_alone(self, desk, packing, pack):
        packed = pack(b"HF_TOKEN=" + SECRET + b"\n")
        found = desk.bundle(tar_of(FILES[0], ("nodes/n/job.log.x", packed), FILES[3]))
        assert [one.status for one in found] == [200, 422, 200]
        assert found[1].reason.startswith(f"packed with {packing}: send it unpacked")
        assert (found[1].stored_bytes, found[1].sha256) == (0, hashlib.sha256(packed).hexdigest())
        with_it = [path.read_bytes() for path in desk.files()]
        desk.bundle(tar_of(FILES[0], FILES[3]))
        assert [path.read_bytes() for path in desk.files()] == with_it * 2

    def test_a_journal_is_refused_with_its_own_way_out(self, desk):
        with pytest.raises(Unprocessable, match="a journal of systemd") as caught:
            desk.file(b"LPKSHHRH" + bytes(200) + SECRET, filename="system.journal")
        assert "journalctl -o json" in caught.value.hint

    @pytest.mark.parametrize("pack", [lzma.compress, bz2.compress, zip_of])
    def test_a_body_that_is_a_packed_archive_is_told_so(self, desk, pack):
        with pytest.raises(Unprocessable, match="the body is packed with") as caught:
            desk.bundle(pack(tar_of(*FILES)))
        assert "gzip or zstd" in caught.value.hint

    @pytest.mark.parametrize(
        "text",
        [b"BZh9 is what bzip2 begins with\n", b"PK violation in table 3\n", b"7z: not found\n",
         b"Rar!\n", b"LZIP 1.2\n", b"]\n", b"P*M failed\n",
         b"x" + gzip.compress(b"later", mtime=0)],
    )  # fmt: skip
    def test_text_that_begins_alike_is_taken(self, desk, text):
        member = desk.file(text, filename="job.log")
        assert desk.plain(member) == [text]

    @pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
    def test_one_layer_behind_the_encoding_is_taken_off(self, desk, pack):
        body = gzip.compress(pack(b"HF_TOKEN=" + SECRET + b"\n"))
        member = desk.file(body, encoding="gzip", filename="job.log")
        (kept,) = desk.plain(member)
        assert SECRET not in kept
        assert member.redacted


class TestBundle:
    def test_takes_each_file(self, desk):
        found = desk.bundle(tar_of(*FILES))

        assert [(one.name, one.filename, one.node, one.rank, one.kind) for one in found] == [
            ("nodes/n1/trace_rank_3", "trace_rank_3", "n1", 3, "flight_recorder"),
            ("nodes/n1/dmesg.log.gz", "dmesg.log.gz", "n1", None, "kernel_log"),
            ("nodes/n2/trace_rank_4.zst", "trace_rank_4.zst", "n2", 4, "flight_recorder"),
            ("./job.log", "job.log", None, None, "job_log"),
            ("empty_trace_rank_9", "empty_trace_rank_9", None, 9, "flight_recorder"),
            ("job.json", "job.json", None, None, "job_json"),
        ]
        assert found[-1].data == b'{"job_id": "7"}'
        assert [one.sha256 for one in found[:-1]] == [
            hashlib.sha256(data).hexdigest() for _, data in FILES[:-1]
        ]
        clean = FILES[3][1].replace(SECRET, b"[redacted:hf_token]")
        assert desk.plain(*found[:-1]) == [DUMP, DMESG, OTHER_DUMP, clean, b""]
        assert desk.plain(found[2], found[0]) == [OTHER_DUMP, DUMP]

    @pytest.mark.parametrize(
        ("encoding", "pack"),
        [("gzip", gzip.compress), ("zstd", zstandard.compress), (None, gzip.compress),
         (None, zstandard.compress), ("zstd", gzip.compress)],
    )  # fmt: skip
    @pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
    def test_takes_every_packing(self, desk, encoding, pack, form):
        body = pack(tar_of(*FILES, form=form))
        if encoding == "zstd" and pack is gzip.compress:
            body = zstandard.compress(body)

        assert desk.bundle(body, encoding=encoding) == desk.bundle(tar_of(*FILES))

    @settings(max_examples=15, deadline=None)
    @given(step=st.integers(1, 70_000), pack=st.sampled_from([None, "gzip", "zstd"]))
    def test_pieces_of_any_size_give_the_same(self, tmp_path_factory, step, pack):
        desk = Desk(tmp_path_factory.mktemp("desk"))
        body = tar_of(*FILES)
        packed = {None: body, "gzip": gzip.compress(body), "zstd": zstandard.compress(body)}[pack]

        assert desk.bundle(packed, step, encoding=pack) == desk.bundle(body)

    def test_one_byte_at_a_time_gives_the_same(self, desk):
        files = (("nodes/n1/trace_rank_3.zst", zstandard.compress(DUMP)), *FILES[3:])
        body = tar_of(*files)

        assert desk.bundle(body, 1) == desk.bundle(body)
        assert desk.bundle(gzip.compress(body), 1, encoding="gzip") == desk.bundle(body)

    def test_the_same_file_twice_is_one_and_known_ones_are_not_kept(self, desk):
        body = tar_of(FILES[0], FILES[0], ("nodes/n1/b/trace_rank_3", DUMP), ("x/rank_5", DUMP))
        found = desk.bundle(body)
        assert [one.repeats for one in found] == [False, True, True, False]
        assert [bool(one.stored_bytes) for one in found] == [True, False, False, True]
        assert desk.plain(found[0], found[3]) == [DUMP, DUMP]

        again = desk.bundle(body, known={one.identity for one in found})
        assert all(one.repeats and not one.stored_bytes for one in again)
        assert [one.identity for one in again] == [one.identity for one in found]
        assert desk.blobs.read("pack-2", 0, 10) == b""

    def test_the_request_says_the_node(self, desk):
        found = desk.bundle(tar_of(*FILES[:2]), node="given")
        assert {one.identity.node for one in found} == {"given"}
        assert found[0].identity == Identity("flight_recorder", "given", 3, found[0].sha256)

    @pytest.mark.parametrize(
        ("name", "data", "status"),
        [
            (
                "flipped.gz",
                gzip.compress(JOB_LOG)[:40] + b"\xff\xff\xff" + gzip.compress(JOB_LOG)[43:],
                422,
            ),
            ("crc.gz", gzip.compress(JOB_LOG)[:-6] + b"oops" + gzip.compress(JOB_LOG)[-2:], 422),
            ("bad.zst", b"\x28\xb5\x2f\xfd" + b"\xff" * 500, 422),
            ("header only.gz", gzip.compress(JOB_LOG)[:10], 422),
            ("inner.tar", tar_of(("a", b"b")), 422),
            ("twice.log.gz.gz", gzip.compress(gzip.compress(JOB_LOG)), 422),
            ("packed.log.xz", lzma.compress(JOB_LOG), 422),
            ("bomb.gz", gzip.compress(bytes(1 << 28)), 413),
            ("bomb.zst", zstandard.compress(bytes(1 << 28)), 413),
            ("large_rank_1", DUMP[:2] + os.urandom(SMALL.dump_bytes), 413),
            ("large.log", b"x" * (SMALL.artifact_bytes + 1), 413),
        ],
        ids=lambda one: one if isinstance(one, str) else "",
    )
    def test_a_bad_file_refuses_itself_alone(self, desk, name, data, status):
        limits = SMALL if status == 413 and not name.startswith("bomb") else ReceiveLimits()
        found = desk.bundle(tar_of(FILES[0], (name, data), FILES[3]), limits=limits)

        assert [one.status for one in found] == [200, status, 200]
        assert found[1].reason
        assert found[1].stored_bytes == 0
        assert found[1].sha256 == hashlib.sha256(data).hexdigest()
        assert desk.plain(found[0]) == [DUMP]

    @pytest.mark.parametrize(
        "body",
        [
            special("link", tarfile.SYMTYPE),
            special("hard", tarfile.LNKTYPE),
            special("null", tarfile.CHRTYPE),
            special("pipe", tarfile.FIFOTYPE),
            tar_of(("../outside", b"x")),
            tar_of(("a/../../outside", b"x")),
            tar_of(("/etc/passwd", b"x")),
            tar_of(("/" + "x" * 300, b"x")),
            tar_of(("nul-\u00fc", b"x")).replace(b"path=nul-", b"path=nul\0"),
        ],
        ids=[
            "symlink",
            "hardlink",
            "device",
            "fifo",
            "dotdot",
            "inner dotdot",
            "absolute",
            "long",
            "nul",
        ],
    )
    def test_what_points_outside_refuses_the_whole(self, desk, body):
        whole = tar_of(FILES[0])[: -(-len(DUMP) // 512) * 512 + 512] + body

        with pytest.raises(Unprocessable):
            desk.bundle(whole)
        assert desk.files() == []

    def test_every_cut_of_a_body_refuses_the_whole(self, desk):
        body = tar_of(("a.log", b"a" * 700), ("b.log", b"b" * 10))
        # Where the first block of the end mark stands, all files are whole.
        for cut in range(0, 3072, 100):
            for one, encoding in ((body[:cut], None), (zlib_cut(body, cut), "gzip")):
                with pytest.raises(Refusal) as caught:
                    desk.bundle(one, encoding=encoding)
                assert caught.value.status in (400, 422)
        with pytest.raises(Unprocessable, match=r"ends inside 'a\.log'"):
            desk.bundle(body[:800])
        assert desk.files() == []

    @pytest.mark.parametrize(
        "body", [b"", b"x", DUMP, JOB_LOG, os.urandom(4096), gzip.compress(DUMP)]
    )
    def test_what_is_no_tar_is_refused_with_what_to_send(self, desk, body):
        with pytest.raises(Unprocessable) as caught:
            desk.bundle(body)
        assert caught.value.hint

    def test_bytes_behind_the_end_are_refused_and_padding_is_not(self, desk):
        body = tar_of(FILES[0])
        assert len(desk.bundle(body + bytes(100_000))) == 1
        with pytest.raises(Unprocessable, match="follow"):
            desk.bundle(body + body)

    def test_bounds_hold_for_the_whole(self, desk):
        many = tar_of(*((f"{k}.log", b"x") for k in range(SMALL.members + 1)))
        with pytest.raises(TooLarge, match="20 files"):
            desk.bundle(many, limits=SMALL)
        large = tar_of(*((f"{k}.log", os.urandom(1 << 20)) for k in range(4)))
        for body, encoding in (
            (large, None),
            (gzip.compress(large, 1), "gzip"),
            (zstandard.compress(large), None),
        ):
            with pytest.raises(TooLarge):
                desk.bundle(body, encoding=encoding, limits=SMALL)
        unpacked = tar_of(*((f"{k}.gz", gzip.compress(os.urandom(1000) * 90)) for k in range(19)))
        roomy = ReceiveLimits(bundle_bytes=1 << 20)
        with pytest.raises(TooLarge, match="unpacked"):
            desk.bundle(unpacked, limits=roomy)
        with pytest.raises(TooLarge):
            desk.bundle(gzip.compress(tar_of(("zeros", bytes(1 << 28)))), encoding="gzip")
        assert desk.files() == []

    def test_passes_over_what_macos_adds_and_folders(self, desk):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", pax_headers={"comment": "x"}) as archive:
            folder = tarfile.TarInfo("nodes")
            folder.type = tarfile.DIRTYPE
            archive.addfile(folder)
            for name in ("nodes/._a.log", "nodes/n\u00f6de/a.log"):
                info = tarfile.TarInfo(name)
                info.size = len(JOB_LOG)
                archive.addfile(info, io.BytesIO(JOB_LOG))

        [only] = desk.bundle(packed.getvalue())

        assert (only.node, only.filename) == ("n\u00f6de", "a.log")

    def test_a_large_job_json_refuses_itself(self, desk):
        found = desk.bundle(tar_of(("job.json", b"x" * ((1 << 20) + 1)), FILES[0]))
        assert [one.status for one in found] == [413, 200]
        assert found[0].data is None

    def test_no_secret_is_in_the_pack(self, desk):
        desk.bundle(tar_of(*FILES))
        [path] = desk.files()
        assert SECRET not in path.read_bytes()
        everything = zstandard.ZstdDecompressor().stream_reader(
            path.read_bytes(), read_across_frames=True
        )
        assert SECRET not in everything.read()

    @settings(max_examples=60, deadline=None)
    @given(st.data())
    def test_damage_anywhere_is_a_refusal_or_a_result(self, tmp_path_factory, data):
        desk = Desk(tmp_path_factory.mktemp("desk"))
        body = bytearray(
            tar_of(("nodes/n/trace_rank_3.gz", gzip.compress(DUMP[:3000], mtime=0)), *FILES[3:])
        )
        if data.draw(st.booleans()):
            body = bytearray(gzip.compress(body, mtime=0))
        for _ in range(data.draw(st.integers(1, 4))):
            place = data.draw(st.integers(0, len(body) - 1))
            body[place] = data.draw(st.integers(0, 255))
        try:
            found = desk.bundle(bytes(body), limits=SMALL)
        except (TooLarge, Unprocessable):
            assert desk.files() == []
        else:
            desk.plain(*(one for one in found if one.stored_bytes))


def zlib_cut(body: bytes, cut: int) -> bytes:
    """The gzip stream of a body, without what was packed behind ``cut``."""
    packer = zlib.compressobj(wbits=31)
    return packer.compress(body[:cut]) + packer.flush(zlib.Z_SYNC_FLUSH)
