"""Files out of a pack: short ones in one call, long ones piece by piece, damaged ones refused."""

import random
from dataclasses import dataclass
from pathlib import Path

import pytest
import zstandard

from triage.errors import Corrupt
from triage.services.uploads.pack import ONE_CALL_BYTES, write_plain
from triage.store.blobs.interface import Blobs, open_blobs

NOISE = random.Random(5).randbytes(ONE_CALL_BYTES + 5)
TEXT = b"step 1 loss 2.0\n" * 400


@dataclass(frozen=True)
class Lies:
    position: int
    stored_bytes: int


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return open_blobs(None, tmp_path / "data", min_free_bytes=0)


def one_call(plain: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=1).compress(plain)


def streamed(plain: bytes) -> bytes:
    """A frame that does not say how much is in it."""
    stream = zstandard.ZstdCompressor(level=1).compressobj()
    return stream.compress(plain) + stream.flush()


def kept(blobs: Blobs, *frames: bytes) -> list[Lies]:
    writer = blobs.begin("pack")
    lies = []
    for frame in frames:
        lies.append(Lies(writer.tell(), len(frame)))
        writer.write(frame)
    writer.commit()
    return lies


def test_files_of_every_length_come_out_as_they_went_in(blobs: Blobs, tmp_path: Path) -> None:
    plain = [b"", b"x", TEXT, bytes(ONE_CALL_BYTES), bytes(8 * ONE_CALL_BYTES), NOISE]
    for number, pack in enumerate((one_call, streamed)):
        lies = kept(blobs, *map(pack, plain))
        paths = write_plain(blobs, "pack", lies[::-1], tmp_path, f"{number}-")

        assert [path.read_bytes() for path in paths] == plain[::-1]
        blobs.delete("pack")


@pytest.mark.parametrize("plain", [TEXT, NOISE], ids=["short", "long"])
@pytest.mark.parametrize("pack", [one_call, streamed])
def test_a_damaged_frame_is_said(blobs: Blobs, tmp_path: Path, plain: bytes, pack) -> None:
    good = pack(plain)
    lies = kept(blobs, good, b"\0" * 4 + good[4:])

    with pytest.raises(Corrupt, match="damaged") as caught:
        write_plain(blobs, "pack", lies, tmp_path)
    assert caught.value.offset == len(good)


@pytest.mark.parametrize("plain", [TEXT, NOISE], ids=["short", "long"])
def test_a_pack_that_was_cut_is_said(blobs: Blobs, tmp_path: Path, plain: bytes) -> None:
    good = one_call(plain)
    kept(blobs, good[:-20])

    with pytest.raises(Corrupt):
        write_plain(blobs, "pack", [Lies(0, len(good))], tmp_path)
