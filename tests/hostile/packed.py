"""Compression and archives: bombs, lies, names that leave, headers that break the reader."""

import gzip
import io
import struct
import tarfile
import zlib
from collections.abc import Iterator

import zstandard

from tests.hostile.assembler import dump, whole
from tests.hostile.damage import KINDS, SEED, mutate, real
from tests.hostile.inputs import Hostile, hostile

MIB = 1 << 20
GOOD = whole(dump())


def squeeze(head: bytes, zeros: int, kind: str) -> bytes:
    """``head`` and so many zeros, compressed without holding them."""
    if kind == "gzip":
        return gzip_of_zeros(head, zeros // MIB)
    out = io.BytesIO()
    with zstandard.ZstdCompressor().stream_writer(out, closefd=False) as writer:
        writer.write(head)
        for _ in range(zeros // MIB):
            writer.write(bytes(MIB))
    return out.getvalue()


def gzip_of_zeros(head: bytes, num_mib: int) -> bytes:
    """Each MiB behind ``head`` is the same compressed bytes: none refers to what is before it."""
    packer = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS)
    first = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    zeros = bytes(MIB)
    each = packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)
    crc = zlib.crc32(head)
    for _ in range(num_mib):
        crc = zlib.crc32(zeros, crc)
    size = (len(head) + num_mib * MIB) % (1 << 32)
    start = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
    return start + first + each * num_mib + packer.flush() + struct.pack("<II", crc, size)


def zstd_lying(size: int) -> bytes:
    """A frame whose header declares ``size`` bytes."""
    body = zstandard.ZstdCompressor(write_content_size=False).compress(GOOD)
    block = body[6:]
    return b"\x28\xb5\x2f\xfd" + b"\xe0" + struct.pack("<Q", size) + block


def zstd_window(log: int) -> bytes:
    body = zstandard.ZstdCompressor(write_content_size=False).compress(GOOD)
    return body[:5] + bytes([(log - 10) << 3]) + body[6:]


def raw_blocks(count: int) -> bytes:
    """zstd blocks that repeat one byte 128 KiB long: four bytes each."""
    block = struct.pack("<I", (131072 << 3) | (1 << 1))[:3] + b"\0"
    return b"\x28\xb5\x2f\xfd\x00\x58" + block * count + b"\x01\x00\x00"


def compressed() -> Iterator[Hostile]:
    for kind in ("gzip", "zstd"):
        for zeros in (9, 65, 1024):
            yield hostile(
                "packed",
                f"{kind} of {zeros} MiB of zeros",
                lambda kind=kind, zeros=zeros: squeeze(b"", zeros * MIB, kind),
                heavy=True,
            )
            yield hostile(
                "packed",
                f"{kind} of a dump and {zeros} MiB of zeros",
                lambda kind=kind, zeros=zeros: squeeze(GOOD, zeros * MIB, kind),
                says="" if zeros > 1000 else "xpan",
                heavy=True,
            )
    yield hostile("packed", "zstd blocks of one byte", lambda: raw_blocks(8192), heavy=True)
    once, twice = gzip.compress(GOOD, mtime=0), gzip.compress(gzip.compress(GOOD, mtime=0), mtime=0)
    yield hostile("packed", "gzip of a dump", once, "read")
    yield hostile("packed", "gzip twice", twice)
    yield hostile("packed", "gzip of zstd", gzip.compress(zstandard.compress(GOOD), mtime=0))
    yield hostile("packed", "zstd of gzip", zstandard.compress(once))
    yield hostile("packed", "zstd ten times", lambda: zstd_times(10))
    yield hostile(
        "packed",
        "gzip in parts of a byte",
        b"".join(gzip.compress(GOOD[k : k + 1], mtime=0) for k in range(len(GOOD))),
        "read",
    )
    yield hostile(
        "packed",
        "gzip of 100,000 empty parts",
        lambda: gzip.compress(b"", mtime=0) * 100_000 + once,
        "any",
        heavy=True,
    )
    yield hostile("packed", "gzip of nothing", gzip.compress(b"", mtime=0))
    yield hostile("packed", "zstd of nothing", zstandard.compress(b""))
    yield hostile(
        "packed", "gzip with a wrong checksum", once[:-8] + bytes(4) + once[-4:], says="data check"
    )
    yield hostile(
        "packed", "gzip with a wrong length", once[:-4] + b"\xff\xff\xff\x7f", says="length"
    )
    yield hostile("packed", "gzip and noise after it", once + b"noise", "any")
    yield hostile("packed", "gzip and zeros after it", once + bytes(1000), "read")
    for at in (1, 2, 9, 10, 15, len(once) // 2, len(once) - 9, len(once) - 1):
        yield hostile("packed", f"gzip cut at byte {at}", once[:at], "any")
    small = zstandard.compress(GOOD)
    for at in (4, 5, 8, len(small) // 2, len(small) - 1):
        yield hostile("packed", f"zstd cut at byte {at}", small[:at], "any")
    for size in (1, 2**31, 2**40, 2**63, 2**64 - 1):
        yield hostile("packed", f"zstd that declares {size} bytes", zstd_lying(size), "any")
    for log in (28, 31, 41):
        yield hostile("packed", f"zstd with a window of 2**{log}", zstd_window(log), says="zstd")
    yield hostile(
        "packed", "zstd with a dictionary", b"\x28\xb5\x2f\xfd\x23\x01\x02\x03\x04\x10" + small[10:]
    )
    yield hostile(
        "packed",
        "zstd after a frame to skip",
        b"\x50\x2a\x4d\x18" + struct.pack("<I", 4) + b"abcd" + small,
        "any",
    )
    yield hostile("packed", "zlib without gzip", zlib.compress(GOOD))
    import bz2
    import lzma
    import random

    yield hostile("packed", "bzip2", bz2.compress(GOOD), "read")
    yield hostile("packed", "xz", lzma.compress(GOOD), "read")
    yield hostile("packed", "an empty zip", b"PK\x05\x06" + bytes(18))
    dice = random.Random(SEED)
    for number, kind in enumerate(KINDS * 2):
        source = gzip.compress(real(), mtime=0) if number % 2 else zstandard.compress(real())
        yield hostile(
            "packed", f"{kind} {number} after compression", mutate(source, dice, kind), "any"
        )


def zstd_times(count: int) -> bytes:
    data = GOOD
    for _ in range(count):
        data = zstandard.compress(data)
    return data


def header(
    name: str,
    size: int = 0,
    kind: bytes = tarfile.REGTYPE,
    form: int = tarfile.GNU_FORMAT,
    link: str = "",
) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = size, kind, link
    return info.tobuf(form, "utf-8", "surrogateescape")


def block(data: bytes) -> bytes:
    return data + bytes(-len(data) % 512)


def member(name: str, data: bytes = GOOD) -> bytes:
    return header(name, len(data)) + block(data)


def attributes(fields: dict[str, bytes], data: bytes = b"", kind: bytes = tarfile.XHDTYPE) -> bytes:
    """A member under a pax header of these fields."""
    body = b""
    for key, text in fields.items():
        record = key.encode() + b"=" + text + b"\n"
        size = len(record) + 2
        while len(str(size)) + 1 + len(record) != size:
            size = len(str(size)) + 1 + len(record)
        body += str(size).encode() + b" " + record
    return (
        header("pax", len(body), kind, tarfile.USTAR_FORMAT)
        + block(body)
        + header("x", len(data))
        + block(data)
    )


END = bytes(1024)
SPARSE = {
    "GNU.sparse.major": b"1",
    "GNU.sparse.minor": b"0",
    "GNU.sparse.name": b"comm_lib_trace_rank_5",
}


def holes(size: bytes) -> dict[str, bytes]:
    return {**SPARSE, "GNU.sparse.realsize": size}


RANK = "comm_lib_trace_rank_5"


def tars() -> Iterator[Hostile]:
    for name, path in {
        "parents": f"../../{RANK}", "parents inside": f"a/../../{RANK}", "the root": f"/etc/{RANK}",
        "a drive": f"C:\\{RANK}", "NUL and line breaks": f"a\r\n{RANK}",
        "255 letters": "r" * 233 + RANK,
        "a name that is no UTF-8": "\udcff\udcfe_trace_rank_5", "nothing": "",
        "a point": ".", "stars": "*" * 50 + "5",
    }.items():  # fmt: skip
        yield hostile("tar", f"the name is {name}", member(path) + END, "any")
    for length in (300, 3000, 60_000):
        for digit in "0", "1", "a", ".gz":
            long = attributes({"path": (digit * length + "_rank_0").encode()}, GOOD)
            yield hostile("tar", f"a path of {length} times {digit}", long + END, "any")
    for name, kind in {
        "a symbolic link": tarfile.SYMTYPE, "a hard link": tarfile.LNKTYPE,
        "a pipe": tarfile.FIFOTYPE,
        "a character device": tarfile.CHRTYPE, "a block device": tarfile.BLKTYPE,
        "of a kind nobody knows": b"Z", "a sparse file": tarfile.GNUTYPE_SPARSE,
        "contiguous": tarfile.CONTTYPE,
        "a folder": tarfile.DIRTYPE, "a multi-volume part": b"M", "a volume label": b"V",
    }.items():  # fmt: skip
        yield hostile(
            "tar",
            f"a member is {name}",
            header(RANK, 0, kind, link="/etc/passwd") + member(RANK) + END,
            "any",
        )
    for name, path, kind in (
        ("a link", RANK, tarfile.SYMTYPE), ("of no known kind", RANK, b"Z"),
        ("a folder", RANK, tarfile.DIRTYPE), ("outside", f"../{RANK}", tarfile.REGTYPE),
    ):  # fmt: skip
        lie = header(path, 1 << 50, kind) + member(RANK) + END
        yield hostile("tar", f"a petabyte that is {name}", lie, "any")
        yield hostile(
            "tar", f"a petabyte behind gzip that is {name}", gzip.compress(lie, mtime=0), "any"
        )
    for size in (65 * MIB, 8 << 30, 1 << 40, (1 << 62) - 1, -1, -512, -(1 << 40)):
        yield hostile(
            "tar", f"a member declares {size} bytes", header(RANK, size) + block(GOOD) + END, "any"
        )
        yield hostile(
            "tar",
            f"attributes declare {size} bytes",
            header("pax", size, tarfile.XHDTYPE) + block(b"9 a=bcde\n") + member(RANK) + END,
            "any",
        )
        yield hostile(
            "tar",
            f"a long name declares {size} bytes",
            header("long", size, tarfile.GNUTYPE_LONGNAME) + block(b"abc\0") + member(RANK) + END,
            "any",
        )
        yield hostile(
            "tar",
            f"attributes say size {size}",
            attributes({"size": str(size).encode()}, GOOD) + END,
            "any",
        )
    sparse = SPARSE
    for name, fields, data in (
        ("no map", sparse, b"no line break"), ("a map that ends", sparse, b"99999\n1\n2\n"),
        ("letters in the map", sparse, b"x\n"),
        ("a map of many", holes(b"9"), b"2\n0\n1\n8\n1\n" + b"x" * 600),
        ("a map that overlaps", holes(b"9999999"), b"2\n0\n9\n0\n9\n" + b"x" * 600),
        ("20 GB of holes", holes(b"20000000000"), b"1\n0\n9\n" + b"x" * 600),
        ("60 MB of holes", holes(b"60000000"), b"1\n0\n9\n" + b"x" * 600),
        ("version 0.1", {"GNU.sparse.map": b"1,b,3", "GNU.sparse.size": b"9"}, b"abc"),
        ("version 0.0", {"GNU.sparse.size": b"x", "GNU.sparse.offset": b"q"}, b"abc"),
        ("no numbers", {"uid": b"x", "mtime": b"never", "size": b"some"}, b"abc"),
        ("5,000 digits", {"uid": b"9" * 5000}, b"abc"), ("NaN", {"mtime": b"nan"}, b"abc"),
        ("a charset", {"hdrcharset": b"BINARY", "path": b"\xff\xfe"}, b"abc"),
        ("an empty key", {"": b""}, b"abc"),
        ("text that is no UTF-8", {"path": b"\xff\xfe_rank_5"}, GOOD),
    ):  # fmt: skip
        yield hostile("tar", f"attributes with {name}", attributes(fields, data) + END, "any")
        yield hostile(
            "tar",
            f"attributes for all with {name}",
            attributes(fields, data, tarfile.XGLTYPE) + END,
            "any",
        )
    chain = header("long", 4, tarfile.GNUTYPE_LONGNAME) + block(b"abc\0")
    yield hostile("tar", "3,000 long names of one member", chain * 3000 + member(RANK) + END)
    chain = header("pax", 9, tarfile.XHDTYPE) + block(b"9 a=bcde\n")
    slow = attributes({"path": b"1" * 8000})
    yield hostile(
        "tar", "200 attributes of 8,000 digits", lambda: slow * 200 + END, "any", heavy=True
    )
    yield hostile("tar", "3,000 attributes of one member", chain * 3000 + member(RANK) + END)
    bad = header("pax", 20, tarfile.XHDTYPE) + block(b"0 a=b\n-5 c=d\n999999 e=f\n")
    yield hostile("tar", "attributes of no length", bad + member(RANK) + END, "any")
    two = member(RANK) + member("comm_lib_trace_rank_6")
    for at in (512, 700, len(member(RANK)), len(member(RANK)) + 100, len(two) - 600, len(two)):
        yield hostile("tar", f"cut at byte {at}", two[:at], "any")
        yield hostile(
            "tar",
            f"gzip of one cut at byte {at}",
            gzip.compress(two + END, mtime=0)[: at // 4],
            "any",
        )
    broken = bytearray(two + END)
    broken[len(member(RANK)) + 148] ^= 0xFF
    yield hostile("tar", "a header with a wrong checksum", bytes(broken), "any", "breaks off")
    yield hostile("tar", "a tar in a tar", member("inner.tar", two + END) + END, "any")
    yield hostile(
        "tar",
        "members compressed twice",
        member(RANK, gzip.compress(gzip.compress(GOOD))) + END,
        "any",
    )
    yield hostile("tar", "one rank three times", member(RANK) * 3 + END, "any")
    yield hostile(
        "tar",
        "a member that is a bomb",
        lambda: member(RANK + ".gz", squeeze(GOOD, 300 * MIB, "gzip")) + END,
        heavy=True,
    )
    yield hostile(
        "tar",
        "a bomb of zeros",
        lambda: squeeze(header(RANK, 8 << 30), 1024 * MIB, "gzip"),
        heavy=True,
    )
    yield hostile(
        "tar",
        "a bomb of attributes",
        lambda: squeeze(header("pax", 8 << 30, tarfile.XHDTYPE), 1024 * MIB, "zstd"),
        heavy=True,
    )
    yield hostile(
        "tar",
        "a bomb of members",
        lambda: gzip.compress(header("x") * 120_000 + END, 1),
        says="files in the archive",
        heavy=True,
    )
    import random

    dice = random.Random(SEED)
    for number, kind in enumerate(KINDS * 4):
        yield hostile("tar", f"{kind} {number}", mutate(two + END, dice, kind), "any")


def inputs() -> Iterator[Hostile]:
    yield from compressed()
    yield from tars()
