"""File systems and checkpoint stores, as a job meets them.

Many nodes within seconds are the file system, one node is its mount or its disk:
the text alone says storage. A full ``/dev/shm`` is the container's shared memory, not a disk.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame
from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.signature import Reading

_SHARED_MEMORY = compile_re(r"/dev/shm|</torch_|shared memory object|/psm_|/sem\.", re.IGNORECASE)
_OBJECT_STORE = compile_re(r"/tmp/ray/session\S{0,80}/plasma", re.IGNORECASE)
# A path that is the node's own disk by its name, wherever sites mount it.
_LOCAL_DISK = compile_re(
    r"['\"\s=](?:/tmp/|/var/tmp/|/scratch[_-]local|/local|/nvme|/mnt/(?:local|nvme|ssd|resource)"
    r"|/raid/|/ssd/|/opt/dlami/nvme)",
    re.IGNORECASE,
)


def full(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A full file system. That in memory is as large as the container was given it; the store of
    objects of Ray takes the memory of the host.
    """
    if _SHARED_MEMORY.search(match.string):
        return Reading(
            category=Category.DEPENDENCY,
            also=(Category.HOST_OOM,),
            blame=Blame.SELF,
            signature="storage.shared_memory",
        )
    if _OBJECT_STORE.search(match.string):
        return Reading(category=Category.HOST_OOM, also=(Category.STORAGE,), blame=Blame.SELF)
    return of_path(match, _after)


def of_path(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Whose storage: that of the node itself where the path says so."""
    if _LOCAL_DISK.search(match.string):
        return Reading(also=(Category.SSD, Category.SOFTWARE_USER), blame=Blame.SELF)
    return Reading()


SIGNATURES = load(
    __name__,
    stuck_write=lambda match, after: (
        None if re.search(r"\bsaved\b|\bloaded\b", match.string) else of_path(match, after)
    ),
    download_stuck=lambda match, _after: (
        None if re.search(r"finished|complete|stuck to", match.string) else Reading()
    ),
    reader_failed=lambda match, after: (
        None if re.match(r"\s{0,40}(?:import|from) ", match.string) else of_path(match, after)
    ),
    complaint=lambda match, _after: (
        None
        if re.search(
            r"\bretry(?:ing)?\b|\brecovered\b|\bresumed\b|\b(?:no|0) (?:timeouts|errors)\b"
            r"|SeqNum=|NCCL",
            match.string,
        )
        else Reading()
    ),
)
