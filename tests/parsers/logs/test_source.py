"""Logs as streams, whatever packs them; what is no text is refused."""

import bz2
import gzip
import io
import lzma
import random
import tarfile
from functools import partial
from pathlib import Path

import pytest
import zstandard

from triage.domain.report import Refused
from triage.formats.dumps import read_dumps
from triage.parsers.files.inputs import InputFile, find_inputs
from triage.parsers.logs.source import LogStream, log_streams

TEXT = b"".join(b"line %d of a log\n" % number for number in range(20_000))


def streams(path: Path, wanted: frozenset[str] | None = None) -> dict[str, bytes | str]:
    """Artifact -> its bytes, or why it is refused."""
    found: dict[str, bytes | str] = {}
    for file in find_inputs([path]).files:
        for one in log_streams(file, wanted):
            if isinstance(one, Refused):
                found[one.artifact] = one.why
                continue
            if one.not_text is not None:
                found[one.artifact] = one.not_text
                continue
            buffer = bytearray(1 << 20)
            found[one.artifact] = bytes(buffer[: one.fill(memoryview(buffer))])
    return found


def tar(members: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


PACKERS = {
    "plain": bytes, "gzip": gzip.compress, "zstd": zstandard.compress,
    "xz": partial(lzma.compress, preset=0), "bzip2": partial(bz2.compress, compresslevel=1),
}  # fmt: skip


@pytest.mark.parametrize("outer", PACKERS)
@pytest.mark.parametrize("inner", PACKERS)
def test_a_log_is_read_whatever_packs_it(outer: str, inner: str, tmp_path: Path) -> None:
    pack, wrap = PACKERS[inner], PACKERS[outer]
    (tmp_path / "all.tar").write_bytes(wrap(tar({"a.log": pack(TEXT), "job.json": b"{}"})))
    (tmp_path / "b.log").write_bytes(wrap(pack(TEXT)) if outer == "plain" else wrap(TEXT))
    assert streams(tmp_path) == {"all.tar/a.log": TEXT, "b.log": TEXT}
    assert streams(tmp_path, frozenset({"b.log"})) == {"b.log": TEXT}


def test_the_dump_reader_hands_on_logs_of_any_size(tmp_path: Path) -> None:
    large = TEXT * 250  # larger than any dump
    (tmp_path / "all.tar").write_bytes(tar({"a.log": large, "b.log": TEXT}))
    dumps = read_dumps(find_inputs([tmp_path]).files)
    assert (sorted(dumps.foreign), dumps.refused) == (["all.tar/a.log", "all.tar/b.log"], [])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_becomes_utf_8(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(TEXT.decode().encode(encoding))
    assert streams(tmp_path) == {"a.log": TEXT}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x7fELF" + bytes(100), "core dump"),
        (bytes(5000), "zeros"),
        (bytes(range(256)) * 40, "binary"),
        (b"PK\x03\x04abc", "zip"),
    ],
)
def test_what_is_no_text_is_refused(data: bytes, why: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(data)
    assert why in str(streams(tmp_path)["a"])


@pytest.mark.parametrize(
    "data",
    [bytes(4000) + b"a line\n", b"\xff\xfea broken \xc3 line\n"[2:], b"\x1b[1mbar\x1b[0m\r", b"x"],
)
def test_damaged_text_is_text(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(data)
    assert streams(tmp_path) == {"a": data}


def test_job_files_and_empty_files_are_no_streams(tmp_path: Path) -> None:
    (tmp_path / "job.json").write_bytes(b"{}")
    (tmp_path / "empty.log").write_bytes(b"")
    assert streams(tmp_path) == {}


@pytest.mark.parametrize("kind", list(PACKERS)[1:])
def test_a_stream_that_breaks_off_gives_what_came_before_and_says_where(
    kind: str, tmp_path: Path
) -> None:
    plain = random.Random(1).randbytes(300_000).hex().encode()
    packed = PACKERS[kind](plain)
    path = tmp_path / "a.log"
    path.write_bytes(packed[: len(packed) * 3 // 4])
    found = log_streams(InputFile(path, "a.log", path.stat().st_size))
    stream = next(found)  # it is read before the next one is asked for
    assert isinstance(stream, LogStream)
    parts = bytearray(len(plain))
    size = stream.fill(memoryview(parts))
    assert plain.startswith(parts[:size])
    assert size > 200_000
    assert stream.notes == [f"breaks off: {kind} breaks off (at byte {size:,})"]
    assert list(found) == []
