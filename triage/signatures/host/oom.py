"""The kernel's out-of-memory killer: who asked, what was killed, and whose limit it was.

``fields["constraint"]`` says whether a container's limit or the whole node ran out;
the first needs another limit, the second may be any process of the node.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Kind, Trait
from triage.signatures.family import ADVICE, FATAL, WARN, HostFamily
from triage.signatures.program.process_names import Whose, whose
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

KERNEL = "Linux: mm/oom_kill, mm/memcontrol"
ALSO = (Category.SOFTWARE_USER, Category.DEPENDENCY)
MEMCG = "CONSTRAINT_MEMCG"


def killed(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A limit of a group of processes, or of the node."""
    reach = (match["reach"] or "").lower()
    if "cgroup" in reach:
        return in_group(match["task"], {"constraint": MEMCG})
    return of_the_node(match["task"], {"constraint": "CONSTRAINT_NONE"} if reach else {})


def of_the_node(task: str, fields: dict[str, str]) -> Reading:
    """The whole node ran out; where a service paid for it, the job may go on."""
    if whose(task) is not Whose.SERVICE:
        return Reading(fields=fields)
    return Reading(weak=True, fields=fields, traits=frozenset({Trait.NOT_THE_JOB}))


def in_group(task: str, fields: dict[str, str]) -> Reading:
    """Other containers of the node reach their own limits, and the job does not feel it."""
    owner = whose(task)
    if owner is Whose.JOB:
        return Reading(fields=fields)
    if owner is Whose.SERVICE:
        return Reading(role=ADVICE, weak=True, fields=fields, traits=frozenset({Trait.NOT_THE_JOB}))
    return Reading(weak=True, fields=fields, traits=frozenset({Trait.GENERIC}))


def constrained(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Whose limit: a group's, or all of the node."""
    limited = match["constraint"].upper() == MEMCG
    return in_group(match["task"], {}) if limited else of_the_node(match["task"], {})


def invoked(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Who asked for memory: a service that did says nothing of the job, which was killed or not."""
    owner = whose(match["task"])
    if owner is Whose.SERVICE:
        return Reading(weak=True, traits=frozenset({Trait.NOT_THE_JOB}))
    return Reading(weak=owner is Whose.UNKNOWN)


OOM = HostFamily("oom", Kind.OOM, source=KERNEL, category=Category.HOST_OOM)

OOM.root(
    "invoked",
    r"(?:\[[ \d.]{5,20}\] )?(?P<task>[^\s:][^\n:]{0,31}?) invoked oom-killer: "
    r"gfp_mask=(?P<mask>\w{1,60})",
    literals=("invoked oom-killer",),
    matches=(
        "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=985",
        "pt_data_worker invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0",
    ),
    near_misses=("it has never invoked oom-killer: good",),
    severity=FATAL,
    also=ALSO,
    read=invoked,
)
OOM.root(
    "constraint",
    r"oom-kill:constraint=(?P<constraint>CONSTRAINT_\w{2,20}),[^\n]{0,1500}?"
    r"(?:task_memcg=(?P<group>[^,\n]{1,400}),)?task=(?P<task>[^\n]{1,64}?),pid=(?P<pid>\d{1,9})",
    literals=("oom-kill:constraint=",),
    matches=(
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-9f2.scope,mems_allowed=0-1,"
        "oom_memcg=/kubepods/pod7,task_memcg=/kubepods/pod7/cri-9f2,task=python3,pid=40112,uid=0",
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,"
        "task_memcg=/user.slice,task=rank7,pid=40113,uid=1000",
    ),
    near_misses=("oom-kill:constraint=none",),
    severity=FATAL,
    also=ALSO,
    read=constrained,
)
OOM.root(
    "killed",
    r"(?:(?P<reach>Memory cgroup out of memory|Out of memory)[^:\n]{0,40}: )?"
    r"Kill(?:ed)? process (?P<pid>\d{1,9}),? ?(?:UID \d{1,10},? ?)?\((?P<task>[^)\n]{1,64})\)"
    r"(?:[^\n]{0,40}anon-rss:(?P<anon_kb>\d{1,15})kB)?",
    literals=("killed process ", "out of memory: kill process "),
    matches=(
        "Memory cgroup out of memory: Killed process 40112 (python3) total-vm:98213412kB,"
        " anon-rss:83214512kB, file-rss:88kB, shmem-rss:0kB, UID:0 pgtables:1kB",
        "Out of memory: Killed process 40113 (rank7) total-vm:1kB, anon-rss:9kB, file-rss:0kB",
        "Out of memory: Kill process 812 (python) score 911 or sacrifice child",
        "Out of memory (oom_kill_allocating_task): Killed process 5 (python)",
    ),
    near_misses=("Killed process group 40112 on request",),
    severity=FATAL,
    also=ALSO,
    read=killed,
)
OOM.root(
    "group_limit",
    r"Task in (?P<group>/\S{0,300}) killed as a result of limit of ",
    literals=("killed as a result of limit of",),
    matches=(
        "Task in /slurm/uid_5/job_77/step_0 killed as a result of limit of /slurm/uid_5/job_77",
    ),
    near_misses=("it was killed as a result of limit of time",),
    severity=FATAL,
    also=ALSO,
    read=lambda _match, _after: Reading(fields={"constraint": MEMCG}),
)
OOM.consequence(
    "reaper",
    r"oom_reaper: (?:reaped|unable to reap) (?:process |pid:)?(?P<pid>\d{1,9})"
    r" \((?P<task>[^)\n]{1,64})\)",
    literals=("oom_reaper:",),
    matches=(
        "oom_reaper: reaped process 40112 (python3), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
        "oom_reaper: unable to reap pid:40112 (python3)",
    ),
    near_misses=("oom_reaper: started",),
    severity=WARN,
    also=ALSO,
)
OOM.root(
    "daemon",
    r"(?:systemd-oomd|Killed /\S)[^\n]{0,300}? due to memory (?:pressure for|used)",
    literals=("due to memory pressure for", "due to memory used"),
    matches=(
        "systemd-oomd[911]: Killed /system.slice/train.service due to memory pressure for"
        " /system.slice being 61.33% > 60.00% for > 20s with reclaim activity",
    ),
    near_misses=("slow due to memory pressure for now",),
    source="systemd-oomd",
    severity=FATAL,
    also=ALSO,
)
OOM.root(
    "allocation",
    r"(?P<task>[^\s:][^\n:]{0,31}): page allocation (?:failure: order:(?P<order>\d{1,2})"
    r"|stalls for (?P<stall_ms>\d{1,9})ms)",
    literals=("page allocation failure: order:", "page allocation stalls for"),
    matches=("python3: page allocation failure: order:5, mode:0x40dc0(GFP_KERNEL|__GFP_COMP)",),
    near_misses=("page allocation failure: order unknown",),
    source="Linux: mm/page_alloc",
    severity=WARN,
    weak=True,
)
OOM.noise(
    "table",
    r"Tasks state \(memory values in|uid +tgid +total_vm|oom_score_adj name",
    literals=("tasks state (memory values in", "uid  tgid total_vm", "oom_score_adj name"),
    matches=(
        "Tasks state (memory values in pages):",
        "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
    ),
    near_misses=("Tasks state: running",),
    category=Category.NONE,
)
# What a memory cgroup prints of itself before it kills.
OOM.consequence(
    "usage",
    r"\b(?P<counter>memory(?:\+swap)?|kmem|swap): usage (?P<usage_kb>\d{1,18})kB, limit"
    r" (?P<limit_kb>\d{1,20})kB, failcnt (?P<failures>\d{1,12})",
    literals=("kb, limit ",),
    matches=("memory: usage 104857600kB, limit 104857600kB, failcnt 4127",),
    near_misses=("quota: 5 kB, limit 9 kB",),
    also=ALSO,
)

SIGNATURES = OOM.signatures()
