"""What daemons of a node write into its log about its parts: mcelog, rasdaemon, smartd, fabric
manager. They count and decode what the kernel reported, so that one of their lines is often
all that is left of an error in a log that rotated.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Kind
from triage.signatures.family import ADVICE, CORRECTED, FATAL, UNGRADED, WARN, HostFamily, says
from triage.signatures.signature import Reading, Scope

__all__ = ["SIGNATURES"]

FABRIC = (Category.NETWORK, Category.GPU)


def counted(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Corrected or not, and the module."""
    uncorrected = says(match, "class").startswith(("uncorrected", "fatal", "ue"))
    fields = {"severity": FATAL if uncorrected else CORRECTED}
    if part := says(match, "label"):
        fields["part"] = part
    return Reading(role=None if uncorrected else ADVICE, weak=not uncorrected, fields=fields)


def nvswitch(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """What does not end the fabric is only a warning."""
    fatal = says(match, "class") == "fatal"
    return Reading(fields={"severity": FATAL if fatal else WARN})


DAEMON = HostFamily("daemon", Kind.MEMORY, scope=Scope.ANY)

DAEMON.root(
    "memory_event",
    r"\bmc_event:[^\n]{0,60}? \d{1,9} (?P<class>Corrected|Uncorrected|Fatal|Deferred) errors?:"
    r"[^\n]{0,80}?(?: (?:on|at) (?P<label>[\w#:/ .-]{2,80}?) ?\(|$| \()",
    literals=("mc_event:",),
    matches=(
        "rasdaemon[812]: <...>-77 [003] 0.000049: mc_event: 2026-03-04 05:06:07 +0000 1 Corrected"
        " error: memory read error on CPU_SrcID#0_MC#1_Chan#0_DIMM#0 (mc: 1 location: 0:0)",
        "rasdaemon: mc_event: 1 Uncorrected error: memory read error on P1-DIMMA1 (mc: 0)",
    ),
    near_misses=("rasdaemon: ras:mc_event event enabled", "mc_event: none"),
    source="rasdaemon: ras-mc-handler.c",
    severity=UNGRADED,
    category=Category.HOST_MEMORY,
    read=counted,
)
DAEMON.advice(
    "page_threshold",
    r"Corrected memory errors on page [0-9a-f]{1,16} exceed(?:ed)? threshold"
    r"|[Mm]emory error count for '[^'\n]{1,80}' exceeded threshold"
    r"|corrected error count exceed\w{0,3} (?:the )?threshold",
    literals=(
        "corrected memory errors on page",
        "memory error count for",
        "corrected error count exceed",
    ),
    matches=(
        "mcelog: Corrected memory errors on page 12f4a7000 exceed threshold 10 in 24h: 10 in 24h",
        "mcelog[911]: Corrected memory errors on page 7b3d44000 exceeded threshold: 10 in 24h",
        "mcelog: corrected DIMM memory error count exceeded threshold: corrected error count"
        " exceeded threshold",
    ),
    near_misses=(
        "mcelog: Running trigger `page-error-trigger'",
        "memory errors on page 7 of the manual",
    ),
    source="mcelog: page.c, dimm trigger",
    category=Category.HOST_MEMORY,
    weak=True,
)
DAEMON.root(
    "disk_health",
    r"Device: (?P<device>/dev/\w{2,20})[^\n]{0,40}?,? (?:FAILED SMART self-check|SMART Failure"
    r"|Critical Warning \(0x(?!00)[0-9a-f]{2}\))",
    literals=(
        "failed smart self-check",
        "smart failure",
        "critical warning (0x",
        "back up data now",
    ),
    matches=(
        "smartd[1203]: Device: /dev/sda [SAT], FAILED SMART self-check. BACK UP DATA NOW!",
        "smartd[1203]: Device: /dev/nvme0, Critical Warning (0x04): Reliability",
    ),
    near_misses=(
        'smartd[1203]: Device: /dev/sda [SAT], is SMART capable. Adding to "monitor" list.',
        "smartd[1203]: Device: /dev/nvme0, Critical Warning (0x00)",
    ),
    source="smartmontools: smartd",
    category=Category.SSD,
    kind=Kind.STORAGE,
)
DAEMON.root(
    "disk_sectors",
    r"Device: (?P<device>/dev/\w{2,20})[^\n]{0,40}?, (?P<sectors>[1-9]\d{0,9}) (?:Currently"
    r" unreadable \(pending\)|Offline uncorrectable) sectors",
    literals=("currently unreadable (pending) sectors", "offline uncorrectable sectors"),
    matches=(
        "smartd[1203]: Device: /dev/sdb [SAT], 8 Currently unreadable (pending) sectors",
        "smartd[1203]: Device: /dev/sdb [SAT], 2 Offline uncorrectable sectors",
    ),
    near_misses=("smartd: 0 Currently unreadable (pending) sectors",),
    source="smartmontools: smartd",
    severity=WARN,
    category=Category.SSD,
    kind=Kind.STORAGE,
)
DAEMON.root(
    "fabric_manager_error",
    r"detected (?:NVSwitch|NVLink) (?P<class>non-fatal|fatal) error (?P<error>\d{4,5})?",
    literals=("detected nvswitch ", "detected nvlink "),
    matches=(
        "nv-fabricmanager[2002]: detected NVSwitch fatal error 20009 on fid:0 on NVSwitch pci bus"
        " id:00000000:06:00.0 physical id:9 port:41",
        "[ERROR] [tid 2002] detected NVSwitch non-fatal error 12028 on fid:0 on NVSwitch pci bus"
        " id:00000000:08:00.0 physical id:10 port:59",
    ),
    near_misses=("detected NVSwitch driver version 550.54", "no NVSwitch fatal error was detected"),
    source="NVIDIA fabric manager: its log",
    severity=UNGRADED,
    category=Category.NVLINK,
    also=FABRIC,
    kind=Kind.LINK,
    read=nvswitch,
)
DAEMON.root(
    "fabric_manager_training",
    r"[Nn][Vv][Ll]ink connection training failed|[Ff]ailed to train [Nn][Vv][Ll]ink"
    r"|some NVLinks are not trained",
    literals=(
        "nvlink connection training failed",
        "failed to train nvlink",
        "nvlinks are not trained",
    ),
    matches=(
        "nv-fabricmanager[2002]: failed to train NVLink connection between GPU 3 and NVSwitch 1",
    ),
    near_misses=("all NVLink connections are trained",),
    source="NVIDIA fabric manager: its log",
    category=Category.NVLINK,
    also=FABRIC,
    kind=Kind.LINK,
)

SIGNATURES = DAEMON.signatures()
