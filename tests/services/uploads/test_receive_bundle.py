"""Bundles to packs: each file on its own, the whole where it cannot be trusted."""

import gzip
import hashlib
import io
import lzma
import random
import tarfile
import zlib
from dataclasses import replace

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.services.uploads.receive_desk import (
    DMESG,
    DUMP,
    FILES,
    JOB_LOG,
    OTHER_DUMP,
    SECRET,
    SMALL,
    Desk,
    special,
    tar_of,
)
from triage.errors import Refusal, TooLarge, Unprocessable
from triage.services.uploads.take import ReceiveLimits


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

    def test_the_same_file_twice_is_one(self, desk):
        body = tar_of(FILES[0], FILES[0], ("nodes/n1/b/trace_rank_3", DUMP), ("x/rank_5", DUMP))
        found = desk.bundle(body)
        assert [one.repeats for one in found] == [False, True, True, False]
        assert [bool(one.stored_bytes) for one in found] == [True, False, False, True]
        assert desk.plain(found[0], found[3]) == [DUMP, DUMP]

    def test_the_request_says_the_node(self, desk):
        found = desk.bundle(tar_of(*FILES[:2]), node="given")
        assert {one.node for one in found} == {"given"}
        first = found[0]
        assert (first.kind, first.rank) == ("flight_recorder", 3)
        assert first.identity == replace(first, name="x", filename="y").identity
        assert first.identity != replace(first, node="other").identity

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
            ("damaged.log.xz", lzma.compress(JOB_LOG)[:80] + bytes(80), 422),
            ("bomb.gz", lambda: gzip.compress(bytes(1 << 28)), 413),
            ("bomb.zst", lambda: zstandard.compress(bytes(1 << 28)), 413),
            ("bomb.xz", lambda: lzma.compress(bytes(1 << 26), preset=0), 413),
            ("large_rank_1", DUMP[:2] + random.Random(1).randbytes(SMALL.dump_bytes), 413),
            ("large.log", b"x" * (SMALL.artifact_bytes + 1), 413),
        ],
        ids=lambda one: one if isinstance(one, str) else "",
    )
    def test_a_bad_file_refuses_itself_alone(self, desk, name, data, status):
        data = data() if callable(data) else data
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
        "body",
        [b"", b"x", DUMP, JOB_LOG, random.Random(1).randbytes(4096), gzip.compress(DUMP)],
        ids=["nothing", "a letter", "a dump", "a log", "noise", "a packed dump"],
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
        large = tar_of(*((f"{k}.log", random.Random(k).randbytes(1 << 20)) for k in range(4)))
        for body, encoding in (
            (large, None),
            (gzip.compress(large, 1), "gzip"),
            (zstandard.compress(large), None),
        ):
            with pytest.raises(TooLarge):
                desk.bundle(body, encoding=encoding, limits=SMALL)
        noise = [random.Random(k).randbytes(1000) for k in range(19)]
        unpacked = tar_of(*((f"{k}.gz", gzip.compress(one * 90)) for k, one in enumerate(noise)))
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
