"""The blob store: packs of uploaded bytes, in a folder or in an object store.

Both are safe to be used by several threads; a writer is one thread's.
"""

from collections.abc import Mapping
from pathlib import Path

from triage.errors import UsageError
from triage.store.blobs.folder import FolderBlobs
from triage.store.blobs.object_store import ObjectBlobs
from triage.store.private_files import make_private_folder

Blobs = FolderBlobs | ObjectBlobs


def open_blobs(
    url: str | None,
    data_dir: Path,
    *,
    environ: Mapping[str, str] | None = None,
    min_free_bytes: int | None = None,
) -> Blobs:
    """The store that ``url`` names: None for ``data_dir/blobs``, or ``s3://bucket/prefix``.

    ``environ`` gives the object store's ``TRIAGE_S3_*`` or ``AWS_*`` values: endpoint, region and
    keys. ``min_free_bytes`` stay free on the disk; by default a twentieth of it, at most 64 MiB.
    Raises :class:`UsageError` for a URL that is neither, and for a folder that others may change.
    """
    if url is None:
        blobs = FolderBlobs(make_private_folder(data_dir) / "blobs", min_free_bytes=min_free_bytes)
        make_private_folder(blobs.root, make=False)
        return blobs
    if url.startswith("s3://"):
        spool = make_private_folder(make_private_folder(data_dir) / "spool")
        return ObjectBlobs(url, spool, environ=environ or {}, min_free_bytes=min_free_bytes)
    raise UsageError(f"TRIAGE_BLOB_URL={url[:200]!r}: give s3://bucket/prefix, or leave it out")
