"""File systems and checkpoint stores, as a job meets them.

Many nodes within seconds are the file system, one node is its mount or its disk:
the text alone says storage. A full ``/dev/shm`` is memory, not a disk.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind
from triage.signatures.job_line import ROOT, Family
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

STORAGE = Family("storage", Kind.STORAGE)
CATEGORY = Category.STORAGE
ERRNO = "Linux: errno, as Python and coreutils print it"
SHARED_MEMORY = re.compile(r"/dev/shm|/tmp/ray/session\S{0,80}/plasma", re.IGNORECASE)


def full(found: re.Match[str], _after: Sequence[str]) -> Reading:
    """A full file system; that in memory is a matter of the host's memory."""
    if SHARED_MEMORY.search(found.string):
        return Reading(category=Category.HOST_OOM, also=(CATEGORY,), blame=Blame.SELF)
    return Reading()


STORAGE.add(
    "stale_handle",
    ROOT,
    ("stale file handle", "[errno 116]"),
    r"Stale file handle|\[Errno 116\]",
    ("OSError: [Errno 116] Stale file handle: '/data/idx'", "cp: '/a': Stale file handle"),
    ("the file handle is stale after 3 s",),
    ERRNO,
    category=CATEGORY,
    blame=Blame.SHARED,
)
STORAGE.add(
    "full",
    ROOT,
    ("no space left on device", "[errno 28]", "disk quota exceeded", "[errno 122]"),
    r"No space left on device|\[Errno 28\]|Disk quota exceeded|\[Errno 122\]",
    (
        "OSError: [Errno 28] No space left on device",
        "tee: out.txt: No space left on device",
        "OSError: [Errno 122] Disk quota exceeded: '/home/u/ckpt'",
    ),
    ("no space left on this page",),
    ERRNO,
    category=CATEGORY,
    also=(Category.SSD,),
    blame=Blame.SHARED,
    read=full,
)
STORAGE.add(
    "io_error",
    ROOT,
    (
        "[errno 5]",
        "input/output error",
        "[errno 121]",
        "remote i/o error",
        "[errno 30]",
        "read-only file system",
        "[errno 117]",
        "structure needs cleaning",
    ),
    r"\[Errno (?:5|121|30|117)\]|Input/output error|Remote I/O error|Read-only file system"
    r"|Structure needs cleaning",
    (
        "OSError: [Errno 5] Input/output error: '/scratch/data.bin'",
        "OSError: [Errno 121] Remote I/O error",
        "touch: cannot touch '/x': Read-only file system",
    ),
    ("[errno 57] bad font",),
    ERRNO,
    category=CATEGORY,
    also=(Category.SSD,),
    blame=Blame.SHARED,
)
STORAGE.add(
    "mount_lost",
    ROOT,
    ("transport endpoint", "[errno 108]", "communication error on send", "[errno 70]"),
    r"'[^']{1,512}': (?:Transport endpoint is not connected|Communication error on send)"
    r"|\[Errno (?:70|107|108)\][^'\"]{0,80}['\"]/|send after transport endpoint shutdown",
    (
        "OSError: [Errno 107] Transport endpoint is not connected: '/mnt/ckpt'",
        "OSError: [Errno 108] Cannot send after transport endpoint shutdown",
        "ls: cannot access '/mnt/data': Transport endpoint is not connected",
    ),
    # The same words on a socket: another rank has gone.
    ("  what():  Transport endpoint is not connected",),
    ERRNO + "; FUSE and Lustre mounts",
    category=CATEGORY,
    blame=Blame.SHARED,
)
STORAGE.add(
    "torch_archive",
    ROOT,
    (
        "pytorchstreamwriter failed",
        "pytorchstreamreader failed",
        "inline_container.cc",
        "unexpected pos ",
    ),
    r"PytorchStream(?:Writer|Reader) failed|inline_container\.cc:\d{1,6}\](?: \.)? ?"
    r"(?P<why>unexpected pos \d{1,20} vs \d{1,20}|.{0,80}?failed)"
    r"|unexpected pos \d{1,20} vs \d{1,20}",
    (
        "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central"
        " directory",
        "RuntimeError: [enforce fail at inline_container.cc:603] . unexpected pos 576 vs 470",
        "RuntimeError: [enforce fail at inline_container.cc:595] . PytorchStreamWriter failed"
        " writing file data/7: file write failed",
    ),
    ("inline_container.cc compiled",),
    "PyTorch: caffe2/serialize/inline_container.cc",
    category=CATEGORY,
    also=(Category.SSD,),
    blame=Blame.SHARED,
)
STORAGE.add(
    "damaged_file",
    ROOT,
    (
        "safetensorerror",
        "unpicklingerror",
        "pickle data was truncated",
        "ran out of input",
        "badzipfile",
        "file is truncated",
        "(truncated file: ",
        "checkpointexception",
        "error while deserializing header",
        "parquet magic bytes not found",
        "oserror: unable to load weights",
    ),
    r"Error while deserializing header|UnpicklingError: |pickle data was truncated"
    r"|EOFError: Ran out of input|BadZipFile: "
    r"|CheckpointException: |magic bytes not found|OSError: Unable to load weights"
    r"|SafetensorError: |file is truncated|\(truncated file: ",
    (
        "safetensors_rust.SafetensorError: Error while deserializing header: InvalidHeaderLength",
        "_pickle.UnpicklingError: pickle data was truncated",
        "EOFError: Ran out of input",
        "OSError: Unable to load weights from pytorch checkpoint file for '/ckpt'",
    ),
    ("except BadZipFile as error",),
    "readers of checkpoints and data sets",
    category=CATEGORY,
    also=(Category.SSD, Category.SOFTWARE_USER),
    blame=Blame.SHARED,
)
STORAGE.add(
    "object_store",
    ROOT,
    (
        "botocore.exceptions.",
        "google.api_core.exceptions.",
        "azure.core.exceptions.",
        "fsspec.exceptions.",
        "gcsfs.retry.",
        "s3uploadfailederror",
        "slowdown) when calling",
        "reduce your request rate",
    ),
    r"(?:botocore|google\.api_core|azure\.core|fsspec)\.exceptions\.\w{3,60}(?:: |\s*$)"
    r"|S3UploadFailedError|gcsfs\.retry\.HttpError|SlowDown\) when calling"
    r"|reduce your request rate",
    (
        "botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL",
        "google.api_core.exceptions.ServiceUnavailable: 503 try again",
        "fsspec.exceptions.FSTimeoutError",
    ),
    ("from botocore.exceptions import ClientError",),
    "object-store clients",
    category=CATEGORY,
    also=(Category.DEPENDENCY, Category.NETWORK),
    blame=Blame.SHARED,
)
STORAGE.add(
    "checkpoint",
    ROOT,
    (
        "failed to save checkpoint",
        "error saving checkpoint",
        "failed to load checkpoint",
        "checkpoint save failed",
        "checkpoint load failed",
        "checkpoint is corrupt",
        "checkpoint save timed out",
    ),
    r"[Ff]ailed to (?:save|load) checkpoint|[Ee]rror saving checkpoint"
    r"|[Cc]heckpoint (?:(?:save|load) failed|is corrupt|save timed out)",
    ("Failed to save checkpoint at step 900: timed out",),
    ("no failed checkpoints",),
    "trainers: checkpointing",
    category=CATEGORY,
    also=(Category.SSD, Category.DEPENDENCY),
    blame=Blame.SHARED,
    weak=True,
)

SIGNATURES = STORAGE.signatures()
