"""Processors and tasks that do not move on, and a kernel that gives up.

A hung task waits for something: the frames behind the line say for what. A lockup
is a bug or a sick device far more often than a sick processor, so none of these
convicts alone. A panic counts as its reason.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from triage.domain.category import Category
from triage.domain.evidence import Blame, EvidenceRole, Kind, Trait
from triage.signatures.family import CONSEQUENCE, FATAL, ROOT, WARN, HostFamily
from triage.signatures.program.process_names import Whose, whose
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

WATCHDOG = "Linux: kernel/watchdog, kernel/hung_task, kernel/rcu"
FRAMES = 40


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
WAITS = (
    Wait(
        "network_storage",
        re.compile(
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
        re.compile(r"\[(?:nvidia|nvidia_uvm|nvidia_drm|nvidia_modeset|amdgpu)\]"),
        Category.GPU,
        (Category.SOFTWARE_FRAMEWORK, Category.DEPENDENCY),
        CONSEQUENCE,
    ),
    Wait(
        "nic_driver",
        re.compile(
            r"\[(?:mlx[45]_(?:core|ib|en)|ib_core|ib_uverbs|rdma_cm|efa|bnxt_\w+|ice|irdma)\]"
        ),
        Category.NIC,
        (Category.NETWORK,),
        ROOT,
    ),
    Wait(
        "local_disk",
        re.compile(
            r"\[(?:nvme|nvme_core|ext4|xfs|jbd2|btrfs|raid\d{1,2}|md_mod)\]"
            r"|\b(?:ext4|xfs|jbd2|btrfs|nvme|blk_mq)_"
        ),
        Category.SSD,
        (Category.STORAGE,),
        CONSEQUENCE,
    ),
)
NEXT_EVENT = re.compile(r"INFO: task |BUG: |</TASK>|---\[ end|rcu: INFO")


def wait(after: Sequence[str]) -> Wait | None:
    """What the stack in the lines behind an event is about, read as far as the next event."""
    frames: list[str] = []
    for line in after:
        if NEXT_EVENT.search(line):
            break
        frames.append(line)
    block = "\n".join(frames)
    return next((one for one in WAITS if one.frames.search(block)), None)


def hung(match: re.Match[str], after: Sequence[str]) -> Reading:
    """A task in uninterruptible sleep: it waits for what its frames say."""
    known = wait(after)
    if known is None:
        service = whose(match["task"]) is Whose.SERVICE
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


REASONS = (
    Reason(
        re.compile(r"uncorrect\w* memory|memory corruption|EDAC|\bUE\b|ECC error", re.IGNORECASE),
        Category.HOST_MEMORY,
    ),
    Reason(
        re.compile(
            r"machine check|broadcast exception handler|MCE|processor context", re.IGNORECASE
        ),
        Category.CPU,
        (Category.HOST_MEMORY,),
    ),
    Reason(
        re.compile(r"fatal hardware error", re.IGNORECASE),
        Category.CPU,
        (Category.HOST_MEMORY, Category.IO_BOARD),
    ),
    Reason(
        re.compile(r"NMI|PCIe|AER|SERR|IOCK", 0),
        Category.IO_BOARD,
        (Category.CPU, Category.HOST_MEMORY),
        weak=True,
    ),
    Reason(
        re.compile(r"out of memory|deadlocked on memory|no killable", re.IGNORECASE),
        Category.HOST_OOM,
    ),
    Reason(
        re.compile(r"hung_task|hung tasks|blocked tasks", re.IGNORECASE),
        None,
        weak=True,
        role=CONSEQUENCE,
    ),
    Reason(
        re.compile(r"hard lockup", re.IGNORECASE),
        Category.CPU,
        (Category.SOFTWARE_FRAMEWORK,),
        weak=True,
    ),
    Reason(
        re.compile(r"lockup|rcu.{0,20}stall", re.IGNORECASE),
        Category.SOFTWARE_FRAMEWORK,
        (Category.CPU,),
        weak=True,
    ),
    Reason(
        re.compile(r"sysrq|user.?triggered|crash triggered", re.IGNORECASE),
        Category.HOST_MAINTENANCE,
    ),
    Reason(
        re.compile(r"EXT4-fs|XFS|BTRFS|I/O error|root fs|killing? init", re.IGNORECASE),
        Category.SSD,
        (Category.STORAGE, Category.SOFTWARE_FRAMEWORK),
        weak=True,
    ),
    Reason(
        re.compile(r"fatal exception|oops", re.IGNORECASE),
        Category.SOFTWARE_FRAMEWORK,
        (Category.DEPENDENCY, Category.HOST_MEMORY, Category.CPU),
        weak=True,
        role=CONSEQUENCE,
    ),
)


def panic(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The reason behind the dash."""
    said = match["reason"]
    for one in REASONS:
        if one.words.search(said):
            return Reading(category=one.category, also=one.also, weak=one.weak, role=one.role)
    also = (Category.DEPENDENCY, Category.CPU, Category.HOST_MEMORY)
    return Reading(category=Category.SOFTWARE_FRAMEWORK, also=also, weak=True)


LOCKUP = HostFamily("lockup", Kind.LOCKUP)

LOCKUP.consequence(
    "hung_task",
    r"INFO: task (?P<task>[^\n]{1,64}):(?P<pid>\d{1,9})(?: <[^>\n]{1,40}>)? blocked for more than"
    r" (?P<waited_s>\d{1,7}) seconds",
    literals=("blocked for more than ",),
    matches=("INFO: task python3:88123 blocked for more than 122 seconds.",),
    near_misses=(
        "the road is blocked for more than 20 minutes",
        "requests blocked for more than 30 seconds",
    ),
    source=WATCHDOG,
    severity=WARN,
    weak=True,
    context=FRAMES,
    read=hung,
)
LOCKUP.root(
    "soft",
    r"BUG: soft lockup\.? - CPU#(?P<cpu>\d{1,5}) stuck for (?P<stuck_s>\d{1,7})s!"
    r"(?: -?\[(?P<task>[^\]\n]{1,64}?):(?P<pid>\d{1,9})\])?",
    literals=("soft lockup",),
    matches=(
        "watchdog: BUG: soft lockup - CPU#96 stuck for 26s! [kworker/96:2:2211]",
        "NMI watchdog: BUG: soft lockup - CPU#3 stuck for 23s! [python3:88123]",
    ),
    near_misses=("kernel.softlockup_panic: soft lockup detector enabled",),
    source=WATCHDOG,
    category=Category.SOFTWARE_FRAMEWORK,
    also=(Category.CPU, Category.DEPENDENCY),
    weak=True,
    context=FRAMES,
    read=stuck,
)
LOCKUP.root(
    "hard",
    r"(?:Watchdog|CPU\d{0,5}:? Watchdog) detected hard LOCKUP on cpu (?P<cpu>\d{1,5})"
    r"|Hard LOCKUP on cpu (?P<other_cpu>\d{1,5})|BUG: workqueue lockup - pool",
    literals=("hard lockup on cpu", "workqueue lockup"),
    matches=(
        "watchdog: Watchdog detected hard LOCKUP on cpu 61",
        "BUG: workqueue lockup - pool cpus=61 node=1 flags=0x0 nice=0 stuck for 73s!",
    ),
    near_misses=("hard lockup on cpu detector: enabled",),
    source=WATCHDOG,
    severity=FATAL,
    category=Category.CPU,
    also=(Category.SOFTWARE_FRAMEWORK, Category.DEPENDENCY),
    weak=True,
    context=FRAMES,
    read=stuck,
)
LOCKUP.consequence(
    "rcu",
    r"(?:INFO: )?(?P<flavour>rcu_\w{2,12}) (?:self-detected stall on CPU|detected (?:expedited )?"
    r"stalls on CPUs|kthread starved for (?P<jiffies>\d{1,12}) jiffies)",
    literals=(
        "self-detected stall on cpu",
        "detected stalls on cpus",
        "detected expedited stalls",
        "kthread starved for",
    ),
    matches=(
        "rcu: INFO: rcu_sched self-detected stall on CPU",
        "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
        "rcu: rcu_preempt kthread starved for 21003 jiffies! g91 f0x0 RCU_GP_WAIT_FQS(5)",
    ),
    near_misses=("rcu: Hierarchical RCU implementation.",),
    source=WATCHDOG,
    category=Category.SOFTWARE_FRAMEWORK,
    also=(Category.CPU, Category.DEPENDENCY),
    weak=True,
    context=FRAMES,
    read=stuck,
)
LOCKUP.noise(
    "panic_end",
    r"end Kernel panic - not syncing",
    literals=("end kernel panic",),
    matches=("---[ end Kernel panic - not syncing: Fatal exception ]---",),
    near_misses=("the end kernel panic",),
    source="Linux: kernel/panic",
    category=Category.NONE,
    kind=Kind.KERNEL,
)
LOCKUP.root(
    "panic",
    r"Kernel panic - not syncing: (?P<reason>[^\n]{1,160})",
    literals=("kernel panic - not syncing",),
    matches=(
        "Kernel panic - not syncing: Fatal machine check",
        "Kernel panic - not syncing: hung_task: blocked tasks",
        "Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000007",
        "Kernel panic - not syncing: sysrq triggered crash",
    ),
    near_misses=("a kernel panic - not syncing clocks",),
    source="Linux: kernel/panic",
    severity=FATAL,
    kind=Kind.KERNEL,
    read=panic,
)
LOCKUP.root(
    "oops",
    r"BUG: (?:unable to handle (?:kernel |page )|kernel NULL pointer dereference"
    r"|Bad page (?:state|map) in process)|kernel BUG at (?P<place>\S{1,120})!"
    r"|Unable to handle kernel (?:paging|NULL)"
    r"|general protection fault(?:, probably for[^\n]{0,60})?: [0-9a-f]{4} \[#\d{1,3}\]"
    r"|\bOops: (?:general protection fault[^\n]{0,60})?[0-9a-f]{4,16} \[#\d{1,3}\]",
    literals=(
        "bug: unable to handle",
        "bug: kernel null pointer",
        "kernel bug at ",
        "general protection fault, probably",
        "general protection fault: ",
        "unable to handle kernel",
        "oops: ",
        "internal error: oops",
        "bad page state in process",
        "bad page map in process",
    ),
    matches=(
        "BUG: kernel NULL pointer dereference, address: 0000000000000058",
        "BUG: unable to handle page fault for address: ffffa1c0dec0de00",
        "kernel BUG at mm/slub.c:309!",
        "Oops: 0002 [#1] PREEMPT SMP NOPTI",
        "general protection fault, probably for non-canonical address 0xdead0c0de: 0000 [#1] SMP",
        "Unable to handle kernel paging request at virtual address ffff80001c0de000",
        "BUG: Bad page state in process python3  pfn:1c0de",
    ),
    near_misses=("oops: something went wrong",),
    source="Linux: kernel oops",
    severity=FATAL,
    category=Category.SOFTWARE_FRAMEWORK,
    also=(Category.DEPENDENCY, Category.HOST_MEMORY, Category.CPU),
    weak=True,
    context=FRAMES,
    kind=Kind.KERNEL,
    read=stuck,
)

SIGNATURES = LOCKUP.signatures()
