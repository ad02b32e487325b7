"""Files that are packed so that they cannot be looked through for secrets."""

import bz2
import gzip
import hashlib
import lzma

import pytest
import zstandard

from tests.services.uploads.receive_desk import (
    FILES,
    JOB_LOG,
    SECRET,
    tar_of,
    zip_of,
)
from triage.errors import TooLarge, Unprocessable

# What the test machine has no packer for is written by hand: its magic, and the plain secret.
FURTHER = {
    "gzip, inside gzip": lambda data: gzip.compress(gzip.compress(data)),
    "gzip, inside zstd": lambda data: zstandard.compress(gzip.compress(data)),
    "zstd, inside gzip": lambda data: gzip.compress(zstandard.compress(data)),
    "xz, inside gzip": lambda data: gzip.compress(lzma.compress(data)),
    "gzip, inside xz": lambda data: lzma.compress(gzip.compress(data)),
    "bzip2, inside bzip2": lambda data: bz2.compress(bz2.compress(data)),
    "lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
    "zip": zip_of,
    "7-Zip": lambda data: b"7z\xbc\xaf\x27\x1c\0\4" + data,
    "RAR": lambda data: b"Rar!\x1a\x07\x01\0" + data,
    "lz4": lambda data: b"\x04\x22\x4d\x18\x60\x40\x82" + data,
    "compress": lambda data: b"\x1f\x9d\x90" + data,
}


class TestPackedFurther:
    """What cannot be looked through for secrets is refused, and no byte of it is stored."""

    @pytest.mark.parametrize("name", ["job.log", "comm_lib_trace_rank_3", "dump_3.gz"])
    @pytest.mark.parametrize(("packing", "pack"), FURTHER.items(), ids=FURTHER)
    def test_a_file_is_refused_with_what_to_do(self, desk, packing, pack, name):
        packed = pack(JOB_LOG + b"HF_TOKEN=" + SECRET + b"\n")
        with pytest.raises(Unprocessable) as caught:
            desk.file(packed, filename=name)
        assert caught.value.detail == f"the file is packed with {packing}"
        assert caught.value.hint == "send it unpacked, or packed once with gzip, zstd, xz or bzip2"
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

    def test_a_body_that_is_a_packed_archive_is_told_so(self, desk):
        with pytest.raises(Unprocessable, match="the body is packed with zip") as caught:
            desk.bundle(zip_of(tar_of(*FILES)))
        assert "gzip, zstd, xz or bzip2" in caught.value.hint

    @pytest.mark.parametrize("pack", [lzma.compress, bz2.compress])
    def test_a_bundle_may_be_packed_as_sosreports_are(self, desk, pack):
        plain = tar_of(*FILES)
        assert desk.bundle(pack(plain)) == desk.bundle(plain)
        with pytest.raises(Unprocessable, match="breaks off"):
            desk.bundle(pack(plain)[:-9])

    def test_xz_that_would_need_much_memory_is_refused(self, desk):
        filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 16 << 20}]
        with pytest.raises(TooLarge, match="xz needs more than 8 MiB"):
            desk.file(lzma.compress(JOB_LOG, filters=filters), filename="job.log")
        assert desk.files() == []

    @pytest.mark.parametrize(
        "text",
        [b"BZh9 is what bzip2 begins with\n", b"PK violation in table 3\n", b"7z: not found\n",
         b"Rar!\n", b"LZIP 1.2\n", b"]\n", b"P*M failed\n",
         b"x" + gzip.compress(b"later", mtime=0)],
    )  # fmt: skip
    def test_text_that_begins_alike_is_taken(self, desk, text):
        member = desk.file(text, filename="job.log")
        assert desk.plain(member) == [text]

    @pytest.mark.parametrize(
        "pack", [bytes, gzip.compress, zstandard.compress, lzma.compress, bz2.compress]
    )
    def test_one_layer_behind_the_encoding_is_taken_off(self, desk, pack):
        body = gzip.compress(pack(b"HF_TOKEN=" + SECRET + b"\n"))
        member = desk.file(body, encoding="gzip", filename="job.log")
        (kept,) = desk.plain(member)
        assert SECRET not in kept
        assert member.redacted
