"""File systems and checkpoint stores, as a job meets them.

Many nodes within seconds are the file system, one node is its mount or its disk:
the text alone says storage. A full ``/dev/shm`` is the container's shared memory, not a disk.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind
from triage.signatures.family import Family
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

ERRNO = "Linux: errno, as Python and coreutils print it"
SHARED_MEMORY = re.compile(r"/dev/shm|file </torch_|/psm_|/sem\.", re.IGNORECASE)
OBJECT_STORE = re.compile(r"/tmp/ray/session\S{0,80}/plasma", re.IGNORECASE)
# A path that is the node's own disk by its name, wherever sites mount it.
LOCAL_DISK = re.compile(
    r"['\"\s=](?:/tmp/|/var/tmp/|/scratch[_-]local|/local|/nvme|/mnt/(?:local|nvme|ssd|resource)"
    r"|/raid/|/ssd/|/opt/dlami/nvme)",
    re.IGNORECASE,
)


# What says whose words these are: a file system, an object store, or a path on one.
SUBJECT = (
    r"(?:\b(?:lustre|lfs|ceph(?:fs)?|weka(?:fs)?|gpfs|mmfs|beegfs|nfs|hdfs|juicefs|gcsfuse|s3fs|fsx|efs"
    r"|blobfuse2?|panfs|minio|vastdata|object store|s3 (?:GET|PUT|HEAD|LIST))\b"
    r"|(?<![\w.])/(?:lustre|nfs|gpfs|weka|vast|efs|fsx|beegfs|ceph|cephfs|wekafs|panfs|juicefs)/\w"
    r"|\b(?:s3|gs|az|abfss?|hdfs|oss)://\w)"
)
COMPLAINT = (
    r"\b(?:hangs?|hung|blocked for|stalled|timed out|not responding|unresponsive|unavailable"
    r"|evicted"
    r"|inactive|SlowDown|throttled|backendError|failed after \d{1,4} (?:re)?tr(?:ies|y)"
    r"|failed after \d{1,4}"
    r" attempts|took (?:more|longer) than \d{1,9}|[Cc]ould not obtain|[Ss]erver is busy)\b"
)


def full(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A full file system. That in memory is as large as the container was given it; the store of
    objects of Ray takes the memory of the host.
    """
    if SHARED_MEMORY.search(match.string):
        return Reading(
            category=Category.DEPENDENCY,
            also=(Category.HOST_OOM,),
            blame=Blame.SELF,
            signature="storage.shared_memory",
        )
    if OBJECT_STORE.search(match.string):
        return Reading(category=Category.HOST_OOM, also=(Category.STORAGE,), blame=Blame.SELF)
    return of_path(match, _after)


def of_path(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Whose storage: that of the node itself where the path says so."""
    if LOCAL_DISK.search(match.string):
        return Reading(also=(Category.SSD, Category.SOFTWARE_USER), blame=Blame.SELF)
    return Reading()


STORAGE = Family("storage", Kind.STORAGE, category=Category.STORAGE, blame=Blame.SHARED)

STORAGE.root(
    "stale_handle",
    r"Stale file handle|\[Errno 116\]",
    literals=("stale file handle", "[errno 116]"),
    matches=("OSError: [Errno 116] Stale file handle: '/data/idx'", "cp: '/a': Stale file handle"),
    near_misses=("the file handle is stale after 3 s",),
    source=ERRNO,
)
STORAGE.root(
    "full",
    r"No space left on device|\[Errno 28\]|Disk quota exceeded|\[Errno 122\]",
    literals=("no space left on device", "[errno 28]", "disk quota exceeded", "[errno 122]"),
    matches=(
        "OSError: [Errno 28] No space left on device",
        "tee: out.txt: No space left on device",
        "OSError: [Errno 122] Disk quota exceeded: '/home/u/ckpt'",
    ),
    near_misses=("no space left on this page",),
    source=ERRNO,
    also=(Category.SSD,),
    read=full,
)
STORAGE.root(
    "io_error",
    r"\[Errno (?:5|121|30|117)\]|Input/output error|Remote I/O error|Read-only file system"
    r"|Structure needs cleaning",
    literals=(
        "[errno 5]",
        "input/output error",
        "[errno 121]",
        "remote i/o error",
        "[errno 30]",
        "read-only file system",
        "[errno 117]",
        "structure needs cleaning",
    ),
    matches=(
        "OSError: [Errno 5] Input/output error: '/scratch/data.bin'",
        "OSError: [Errno 121] Remote I/O error",
        "touch: cannot touch '/x': Read-only file system",
    ),
    near_misses=("[errno 57] bad font",),
    source=ERRNO,
    also=(Category.SSD,),
    read=of_path,
)
STORAGE.root(
    "mount_lost",
    r"Transport endpoint is not connected: ['\"]?/|\bs3fs\b.{0,120}?### giving up"
    r"|curl\.cpp:.{0,60}?###"
    r" giving up|'[^']{1,512}': (?:Transport endpoint is not connected|Communication error on send)"
    r"|\[Errno (?:70|107|108)\][^'\"]{0,80}['\"]/|send after transport endpoint shutdown",
    literals=(
        "transport endpoint",
        "[errno 108]",
        "communication error on send",
        "[errno 70]",
        "### giving up",
    ),
    matches=(
        "OSError: [Errno 107] Transport endpoint is not connected: '/mnt/ckpt'",
        "OSError: [Errno 108] Cannot send after transport endpoint shutdown",
        "ls: cannot access '/mnt/data': Transport endpoint is not connected",
        "fuse: mount point is not connected: Transport endpoint is not connected: '/mnt/s3/data'",
        "s3fs: [CRT] curl.cpp:RequestPerform(2455): ### giving up",
    ),
    # The same words on a socket: another rank has gone.
    near_misses=("  what():  Transport endpoint is not connected",),
    source=ERRNO + "; FUSE and Lustre mounts",
)
STORAGE.root(
    "errno_of_path",
    # Behind a path they speak of a file system; alone they are a socket's.
    r"\[Errno (?:110|103|104|112|11|16|35|37|512|524)\] [^'\"\n]{1,80}: ['\"]/"
    r"|unable to lock file, errno = \d|file (?:read|write) failed: errno = \d",
    literals=(
        "[errno 110]",
        "[errno 103]",
        "[errno 112]",
        "[errno 11]",
        "[errno 16]",
        "[errno 524]",
        "[errno 104]",
        "[errno 512]",
        "[errno 37]",
        "[errno 35]",
        "unable to lock file",
        "file read failed: errno",
        "file write failed: errno",
    ),
    matches=(
        "OSError: [Errno 110] Connection timed out: '/mnt/nfs/ckpt/latest'",
        "OSError: [Errno 112] Host is down: '/mnt/share/x'",
        "OSError: [Errno 16] Device or resource busy: '/nfs/.nfs0001'",
        "BlockingIOError: [Errno 11] Unable to synchronously open file (unable to lock file, errno"
        " = 11, error message = 'Resource temporarily unavailable')",
    ),
    near_misses=(
        "TimeoutError: [Errno 110] Connection timed out",
        "ConnectionResetError: [Errno 104] Connection reset by peer",
    ),
    source=ERRNO,
    read=of_path,
)
STORAGE.root(
    "mount_failed",
    r"(?<!\w)mount\.(?:nfs4?|lustre|cifs|weka\w{0,4}): .{0,120}?(?:timed out|failed|refused|denied"
    r"|no such"
    r"|unreachable|stale|not respond)|mount error\(\d|transport endpoint not connected",
    literals=(
        "mount.nfs: ",
        "mount.lustre: ",
        "mount error(",
        "transport endpoint not connected",
        "mount.nfs4: ",
    ),
    matches=(
        "mount.nfs: Connection timed out",
        "mount.lustre: mount fs0@tcp:/lustre at /lustre failed: No such device",
        "fuse: transport endpoint not connected while reading /gcs/data",
    ),
    near_misses=("mount.nfs: timeout set for Sun Nov 22",),
    source="nfs-utils, lustre, FUSE: mount helpers in a job's prolog",
    also=(Category.DEPENDENCY,),
)
STORAGE.root(
    "stuck_write",
    r"\b(?:checkpoint|ckpt|save|write|read|open|stat|fsync|rename|close|flush)\w{0,4}\b.{0,80}?"
    r"\b(?:stuck|timed out|hung|blocked|took longer than)\b.{0,80}?"
    r"(?:/(?:lustre|nfs|gpfs|weka|vast|mnt|efs|fsx|beegfs|ceph|shared|ckpt|checkpoints?|scratch|data|"
    r"home|gcs|wekafs|panfs|juicefs|cephfs|isilon)[\w/.-]{0,200}|s3://\S|gs://\S|az://\S)"
    r"|(?:/(?:lustre|nfs|gpfs|weka|vast|efs|fsx|beegfs|ceph|wekafs|panfs|juicefs|cephfs)[\w/.-]"
    r"{0,200}|s3://\S{0,200}|gs://\S{0,200}).{0,60}?\b(?:stuck|timed out|hung|blocked)\b",
    literals=(
        "stuck for",
        "stuck writing",
        "stuck reading",
        "timed out after",
        "timed out writing",
        "timed out reading",
        "took longer than",
        "hung for",
        "blocked for",
    ),
    matches=(
        "checkpoint save of step 900 has been stuck for 1800 s writing to /mnt/vast/ckpt",
        "write to /lustre/ckpt/iter_9 timed out after 600 s",
        "fsync of /weka/ckpt/9.pt blocked for 312 s",
    ),
    near_misses=("checkpoint saved to /mnt/vast, 3 s blocked", "the NCCL watchdog timed out"),
    source="trainers: checkpointing with a clock",
    also=(Category.SSD,),
    weak=True,
    read=lambda match, after: (
        None if re.search(r"\bsaved\b|\bloaded\b", match.string) else of_path(match, after)
    ),
)
STORAGE.root(
    "download_stuck",
    r"\bdownload\w{0,3}\b.{0,160}?\b(?:stalled|stuck|hung|no (?:bytes|progress))\b"
    r"|\bno bytes (?:received )?for (?:more than )?\d{1,9} ?s|\bno progress on download",
    literals=(
        "download stalled",
        "download is stalled",
        "download stuck",
        "download is stuck",
        "download hung",
        "download has stalled",
        "stalled, no bytes",
        "no bytes received for",
        "no bytes for",
        "no progress on download",
        "download made no progress",
    ),
    matches=(
        "download of s3://bucket/shard-12.tar stalled, no bytes for 900 s",
        "Downloading shards: 12/38 stalled, no bytes for 900 s",
    ),
    near_misses=("download finished, no bytes for cache key", "the download stuck to 3 GB/s"),
    source="trainers and fetchers that watch a download",
    also=(Category.NETWORK, Category.DEPENDENCY),
    weak=True,
    read=lambda match, _after: (
        None if re.search(r"finished|complete|stuck to", match.string) else Reading()
    ),
)
STORAGE.root(
    "reader_failed",
    r"[Ee]rror (?:writing|reading) \"(?:gs|s3)://|(?:gs|s3)://.{0,200}?HTTP response code: 5\d\d"
    r"|[Ss]hard download timed out|[Ff]ailed to download (?:file|shard)\b|zarr\.errors\.\w"
    r"|\bdisk I/O error|\b(?:checkpoint|ckpt|shard|file|[\w-]\.(?:pt|bin|safetensors))\b.{0,120}?"
    r"checksum mismatch|checksum mismatch (?:in checkpoint|for (?:file|shard|checkpoint|/))"
    r"|[Cc]orrupted checkpoint|Checkpoint (?:saving|loading) failed"
    r"|OSError\((?:5|28|116|122), |(?:Read|Connect) timeout on endpoint URL|ErrorCode:ServerBusy"
    r"|ArrowIOError: ",
    literals=(
        'error writing "gs://',
        'error reading "gs://',
        'error writing "s3://',
        'error reading "s3://',
        "http response code: 5",
        "shard download timed out",
        "failed to download file s3://",
        "failed to download file gs://",
        "failed to download shard",
        "zarr.errors.",
        "disk i/o error",
        "checksum mismatch",
        "corrupted checkpoint",
        "checkpoint saving failed",
        "checkpoint loading failed",
        "oserror(5, ",
        "oserror(28, ",
        "oserror(116, ",
        "oserror(122, ",
        "read timeout on endpoint url",
        "connect timeout on endpoint url",
        "serverbusy",
        "operation could not be completed within the specified time",
        "write_timeout to bucket",
        "arrowioerror",
        "checkpointing/writer failed",
    ),
    matches=(
        'tensorstore: UNAVAILABLE: Error writing "gs://b/ckpt": HTTP response code: 503',
        "RuntimeError: Failed to download file s3://b/shard.00012.mds after 3 retries",
        "ValueError: Unable to open zarr array: zarr.errors.ArrayNotFoundError",
        "sqlite3.OperationalError: disk I/O error",
        "RuntimeError: checkpoint shard /ckpt/mp_rank_03.pt checksum mismatch",
        "torch.distributed.checkpoint: async save failed: OSError(122, 'over quota')",
        "ERROR:megatron.core.dist_checkpointing: CheckpointingException: Checkpoint saving failed",
    ),
    near_misses=("checksum mismatch for rank 3", "import zarr.errors"),
    source="tensorstore, Streaming, zarr, SQLite, PyTorch: readers and writers",
    also=(Category.SSD, Category.DEPENDENCY, Category.NETWORK),
    read=lambda match, after: (
        None if re.match(r"\s{0,40}(?:import|from) ", match.string) else of_path(match, after)
    ),
)
STORAGE.root(
    "torch_archive",
    r"PytorchStream(?:Writer|Reader) failed|inline_container\.cc:\d{1,6}\](?: \.)? ?"
    r"(?P<why>unexpected pos \d{1,20} vs \d{1,20}|.{0,80}?failed)"
    r"|unexpected pos \d{1,20} vs \d{1,20}",
    literals=(
        "pytorchstreamwriter failed",
        "pytorchstreamreader failed",
        "inline_container.cc",
        "unexpected pos ",
    ),
    matches=(
        "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central"
        " directory",
        "RuntimeError: [enforce fail at inline_container.cc:603] . unexpected pos 576 vs 470",
        "RuntimeError: [enforce fail at inline_container.cc:595] . PytorchStreamWriter failed"
        " writing file data/7: file write failed",
    ),
    near_misses=("inline_container.cc compiled",),
    source="PyTorch: caffe2/serialize/inline_container.cc",
    also=(Category.SSD,),
)
STORAGE.root(
    "damaged_file",
    r"Error while deserializing header|UnpicklingError: |pickle data was truncated"
    r"|EOFError: Ran out of input|BadZipFile: "
    r"|CheckpointException: |magic bytes not found|OSError: Unable to load weights"
    r"|SafetensorError: |file is truncated|\(truncated file: ",
    literals=(
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
    matches=(
        "safetensors_rust.SafetensorError: Error while deserializing header: InvalidHeaderLength",
        "_pickle.UnpicklingError: pickle data was truncated",
        "EOFError: Ran out of input",
        "OSError: Unable to load weights from pytorch checkpoint file for '/ckpt'",
    ),
    near_misses=("except BadZipFile as error",),
    source="readers of checkpoints and data sets",
    also=(Category.SSD, Category.SOFTWARE_USER),
)
STORAGE.root(
    "object_store",
    r"(?:botocore|google\.api_core|azure\.core|fsspec)\.exceptions\.\w{3,60}(?:: |\s*$)"
    r"|S3UploadFailedError|gcsfs\.retry\.HttpError|SlowDown\) when calling"
    r"|reduce your request rate",
    literals=(
        "botocore.exceptions.",
        "google.api_core.exceptions.",
        "azure.core.exceptions.",
        "fsspec.exceptions.",
        "gcsfs.retry.",
        "s3uploadfailederror",
        "slowdown) when calling",
        "reduce your request rate",
    ),
    matches=(
        "botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL",
        "google.api_core.exceptions.ServiceUnavailable: 503 try again",
        "fsspec.exceptions.FSTimeoutError",
    ),
    near_misses=("from botocore.exceptions import ClientError",),
    source="object-store clients",
    also=(Category.DEPENDENCY, Category.NETWORK),
)
STORAGE.root(
    "complaint",
    rf"{SUBJECT}.{{0,160}}?{COMPLAINT}|{COMPLAINT}.{{0,120}}?{SUBJECT}|BlockMissingException\b"
    r"|\bshards?\b.{0,60}?\bnot downloaded (?:within|in) \d",
    literals=(
        "slowdown",
        "backenderror",
        "not downloaded within",
        "not downloaded in",
        "took more than",
        "took longer than",
        "failed after ",
        "hang on /",
        "hung on /",
        "blocked for",
        "not responding",
        "unresponsive",
        "blockmissingexception",
        "could not obtain block",
        "mds session",
        " inactive",
        "server is busy",
        "service unavailable",
        "throttled",
        "i/o hang",
        "io hang",
        "timed out",
    ),
    matches=(
        "RuntimeError: cephfs: mount point /ckpt blocked for 600 s, MDS session evicted",
        "lfs: /lustre: Resource temporarily unavailable: OST0012 inactive",
        "s3 GET bucket/shard-12 failed after 10 retries: SlowDown",
        "checkpoint upload to gs://b/ckpt failed: 503 backendError",
        "hdfs.util.HdfsError: org.apache.hadoop.hdfs.BlockMissingException: Could not obtain block",
        "weka: client IO hang on /mnt/weka for 312 s",
        "TimeoutError: reading /vast/tokens/0012.bin took more than 600 s",
        "RuntimeError: shard 00012 was not downloaded within 60 s",
    ),
    near_misses=(
        "s3 GET bucket/shard-12: SlowDown, retrying in 2 s",
        "nfs: timeout of mounts is 600 s",
        "barrier timed out on rank 3",
        "[rank3] collective failed after 3 retries",
    ),
    source="clients of file systems and object stores",
    also=(Category.NETWORK, Category.DEPENDENCY),
    weak=True,
    read=lambda match, _after: (
        None
        if re.search(
            r"\bretry(?:ing)?\b|\brecovered\b|\bresumed\b|\b(?:no|0) (?:timeouts|errors)\b"
            r"|SeqNum=|NCCL",
            match.string,
        )
        else Reading()
    ),
)
STORAGE.root(
    "checkpoint",
    r"[Ff]ailed to (?:save|load) checkpoint|[Ee]rror saving checkpoint"
    r"|[Cc]heckpoint (?:(?:save|load) failed|is corrupt|save timed out)",
    literals=(
        "failed to save checkpoint",
        "error saving checkpoint",
        "failed to load checkpoint",
        "checkpoint save failed",
        "checkpoint load failed",
        "checkpoint is corrupt",
        "checkpoint save timed out",
    ),
    matches=("Failed to save checkpoint at step 900: timed out",),
    near_misses=("no failed checkpoints",),
    source="trainers: checkpointing",
    also=(Category.SSD, Category.DEPENDENCY),
    weak=True,
)

SIGNATURES = STORAGE.signatures()
