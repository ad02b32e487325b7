"""Processors and tasks that do not move on, and a kernel that gives up.

A hung task waits for something: the frames behind the line say for what. A lockup
is a bug or a sick device far more often than a sick processor, so none of these
convicts alone. A panic counts as its reason.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from triage.domain.category import Category
from triage.domain.evidence import Blame, EvidenceRole, Trait
from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.program.process_names import Whose, classify_owner
from triage.signatures.severity import CONSEQUENCE, ROOT
from triage.signatures.signature import Reading


@dataclass(frozen=True, slots=True)
class Wait:
    """What a stack is about: a word for the reader, and where the fault then lies."""

    what: str
    frames: re.Pattern[str]
    category: Category
    also: tuple[Category, ...]
    role: EvidenceRole
    blame: Blame = Blame.SELF


# The first that a frame matches; a network file system before the adapter it runs on.
_WAITS = (
    Wait(
        "network_storage",
        compile_re(
            r"\[(?:nfsv?\d?|nfs_layout\w*|sunrpc|rpcrdma|lustre|ptlrpc|osc|mdc|lov|obdclass|ko2iblnd"
            r"|lnet|mmfs\w*|tracedev|wekafs\w*|beegfs|ceph|libceph|cifs|fuse)\]|\b(?:nfs|rpc_wait|ll)_"
        ),
        Category.STORAGE,
        (Category.NETWORK,),
        ROOT,
        Blame.SHARED,
    ),
    Wait(
        "gpu_driver",
        compile_re(r"\[(?:nvidia|nvidia_uvm|nvidia_drm|nvidia_modeset|amdgpu)\]"),
        Category.GPU,
        (Category.SOFTWARE_FRAMEWORK, Category.DEPENDENCY),
        CONSEQUENCE,
    ),
    Wait(
        "nic_driver",
        compile_re(
            r"\[(?:mlx[45]_(?:core|ib|en)|ib_core|ib_uverbs|rdma_cm|efa|bnxt_\w+|ice|irdma)\]"
        ),
        Category.NIC,
        (Category.NETWORK,),
        ROOT,
    ),
    Wait(
        "local_disk",
        compile_re(
            r"\[(?:nvme|nvme_core|ext4|xfs|jbd2|btrfs|raid\d{1,2}|md_mod)\]"
            r"|\b(?:ext4|xfs|jbd2|btrfs|nvme|blk_mq)_"
        ),
        Category.SSD,
        (Category.STORAGE,),
        CONSEQUENCE,
    ),
)
_NEXT_EVENT = compile_re(r"INFO: task |BUG: |</TASK>|---\[ end|rcu: INFO")


def wait(after: Sequence[str]) -> Wait | None:
    """What the stack in the lines behind an event is about, read as far as the next event."""
    frames: list[str] = []
    for line in after:
        if _NEXT_EVENT.search(line):
            break
        frames.append(line)
    block = "\n".join(frames)
    return next((one for one in _WAITS if one.frames.search(block)), None)


def hung(match: re.Match[str], after: Sequence[str]) -> Reading:
    """A task in uninterruptible sleep: it waits for what its frames say."""
    known = wait(after)
    if known is None:
        service = classify_owner(match["task"]) is Whose.SERVICE
        return Reading(traits=frozenset({Trait.NOT_THE_JOB}) if service else None)
    return Reading(
        category=known.category,
        also=known.also,
        role=known.role,
        blame=known.blame,
        fields={"waits_for": known.what},
    )


def stuck(_match: re.Match[str], after: Sequence[str]) -> Reading:
    """A processor that runs in circles: the driver in its frames, if one is there."""
    known = wait(after)
    if known is None:
        return Reading()
    return Reading(
        category=known.category,
        also=(*known.also, Category.CPU),
        fields={"waits_for": known.what},
    )


@dataclass(frozen=True, slots=True)
class Reason:
    """What the words of a panic mean."""

    words: re.Pattern[str]
    category: Category | None
    also: tuple[Category, ...] = ()
    weak: bool = False
    role: EvidenceRole = ROOT


_REASONS = (
    Reason(
        compile_re(r"uncorrect\w* memory|memory corruption|EDAC|\bUE\b|ECC error", re.IGNORECASE),
        Category.HOST_MEMORY,
    ),
    Reason(
        compile_re(
            r"machine check|broadcast exception handler|MCE|processor context", re.IGNORECASE
        ),
        Category.CPU,
        (Category.HOST_MEMORY,),
    ),
    Reason(
        compile_re(r"fatal hardware error", re.IGNORECASE),
        Category.CPU,
        (Category.HOST_MEMORY, Category.IO_BOARD),
    ),
    Reason(
        compile_re(r"NMI|PCIe|AER|SERR|IOCK", 0),
        Category.IO_BOARD,
        (Category.CPU, Category.HOST_MEMORY),
        weak=True,
    ),
    Reason(
        compile_re(r"out of memory|deadlocked on memory|no killable", re.IGNORECASE),
        Category.HOST_OOM,
    ),
    Reason(
        compile_re(r"hung_task|hung tasks|blocked tasks", re.IGNORECASE),
        None,
        weak=True,
        role=CONSEQUENCE,
    ),
    Reason(
        compile_re(r"hard lockup", re.IGNORECASE),
        Category.CPU,
        (Category.SOFTWARE_FRAMEWORK,),
        weak=True,
    ),
    Reason(
        compile_re(r"lockup|rcu.{0,20}stall", re.IGNORECASE),
        Category.SOFTWARE_FRAMEWORK,
        (Category.CPU,),
        weak=True,
    ),
    Reason(
        compile_re(r"sysrq|user.?triggered|crash triggered", re.IGNORECASE),
        Category.HOST_MAINTENANCE,
    ),
    Reason(
        compile_re(r"EXT4-fs|XFS|BTRFS|I/O error|root fs|killing? init", re.IGNORECASE),
        Category.SSD,
        (Category.STORAGE, Category.SOFTWARE_FRAMEWORK),
        weak=True,
    ),
    Reason(
        compile_re(r"fatal exception|oops", re.IGNORECASE),
        Category.SOFTWARE_FRAMEWORK,
        (Category.DEPENDENCY, Category.HOST_MEMORY, Category.CPU),
        weak=True,
        role=CONSEQUENCE,
    ),
)


def panic(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The reason behind the dash."""
    said = match["reason"]
    for one in _REASONS:
        if one.words.search(said):
            return Reading(category=one.category, also=one.also, weak=one.weak, role=one.role)
    also = (Category.DEPENDENCY, Category.CPU, Category.HOST_MEMORY)
    return Reading(category=Category.SOFTWARE_FRAMEWORK, also=also, weak=True)


SIGNATURES = load(__name__)
