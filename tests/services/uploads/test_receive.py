"""One file to a pack: what is kept, what is refused, and how much that may cost."""

import gzip
import hashlib
import random
import tracemalloc

import pytest
import zstandard

from tests.services.uploads.receive_desk import (
    DMESG,
    DUMP,
    JOB_LOG,
    SECRET,
    SMALL,
    tar_of,
)
from triage.errors import TooLarge, Unprocessable, Unsupported


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
        frame = desk.blobs.read("pack-1", member.position, member.stored_bytes)

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
        body = zstandard.ZstdCompressor(write_checksum=True).compress(
            random.Random(1).randbytes(300_000)
        )
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
        body = big.compress(random.Random(1).randbytes(1000)) + big.flush()

        with pytest.raises(Unprocessable):
            desk.file(body, encoding="zstd")

    def test_keeps_what_came_before_a_cut_within_a_file(self, desk):
        for pack in (gzip.compress, zstandard.compress):
            body = pack(random.Random(1).randbytes(9) + JOB_LOG * 500)[:-9]
            member = desk.file(body, filename="trace_rank_3")
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
