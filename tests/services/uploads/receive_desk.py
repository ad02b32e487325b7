"""A desk that takes bodies into a store of its own, and what to send it."""

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import zstandard

from triage.services.uploads.pack import write_plain
from triage.services.uploads.receive import receive_bundle, receive_file
from triage.services.uploads.received import ReceivedFile, Target
from triage.services.uploads.take import ReceiveLimits
from triage.store.blobs.interface import open_blobs

STRAGGLER = Path(__file__).parents[2] / "incidents" / "nccl-straggler-w8" / "fr"
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
DEFAULT_LIMITS = ReceiveLimits()
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
        self.blobs = open_blobs(None, folder, min_free_bytes=0)
        self.count = 0

    def file(
        self, body: bytes, step: int = 1 << 20, encoding=None, limits=DEFAULT_LIMITS, **given
    ) -> ReceivedFile:
        blob = self.begin()
        try:
            target = Target("7", **given)
            member = receive_file(reader(body, step), encoding, target, limits, blob)
            blob.commit()
        finally:
            blob.abort()
        return member

    def bundle(
        self, body: bytes, step: int = 1 << 20, encoding=None, limits=DEFAULT_LIMITS, **given
    ) -> list[ReceivedFile]:
        blob = self.begin()
        try:
            target = Target("7", **given)
            found = list(receive_bundle(reader(body, step), encoding, target, limits, blob))
            blob.commit()
        finally:
            blob.abort()
        return found

    def begin(self):
        self.count += 1
        return self.blobs.begin(f"pack-{self.count}")

    def plain(self, *members: ReceivedFile) -> list[bytes]:
        out = self.folder / f"plain-{self.count}-{len(list(self.folder.iterdir()))}"
        out.mkdir()
        paths = write_plain(self.blobs, f"pack-{self.count}", members, out)
        return [path.read_bytes() for path in paths]

    def files(self) -> list[Path]:
        return [path for path in (self.folder / "blobs").rglob("*") if path.is_file()]


def reader(body: bytes, step: int):
    stream = io.BytesIO(body)
    return lambda size: stream.read(min(size, step))


def zip_of(data: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("job.log", data)
    return packed.getvalue()


FILES = (
    ("nodes/n1/trace_rank_3", DUMP),
    ("nodes/n1/dmesg.log.gz", gzip.compress(DMESG)),
    ("nodes/n2/trace_rank_4.zst", zstandard.compress(OTHER_DUMP)),
    ("./job.log", JOB_LOG + b"HF_TOKEN=" + SECRET + b"\n"),
    ("empty_trace_rank_9", b""),
    ("job.json", b'{"job_id": "7"}'),
)
