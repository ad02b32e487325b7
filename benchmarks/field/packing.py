"""Compressed files whose bytes are the same on every machine: gzip and zstd frames, tar."""

import gzip
import io
import struct
import tarfile

_BLOCK = 1 << 17


def gz(data: bytes) -> bytes:
    """Gzip without a time stamp."""
    return gzip.compress(data, 6, mtime=0)


def zst(data: bytes) -> bytes:
    """A zstd frame of raw blocks (RFC 8878): single segment, content size of four bytes."""
    out = [struct.pack("<IBI", 0xFD2FB528, 0b1010_0000, len(data))]
    blocks = [data[i : i + _BLOCK] for i in range(0, len(data), _BLOCK)] or [b""]
    for i, block in enumerate(blocks):
        head = (len(block) << 3) | (i == len(blocks) - 1)
        out.append(struct.pack("<I", head)[:3] + block)
    return b"".join(out)


def tar(files: dict[str, bytes], squeeze: bool) -> bytes:
    """A tar of files, in order of their names."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as pack:
        for name in sorted(files):
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(files[name]), 0o644
            pack.addfile(info, io.BytesIO(files[name]))
    return gz(made.getvalue()) if squeeze else made.getvalue()
