"""What daemons of a node write into its log about its parts: mcelog, rasdaemon, smartd, fabric
manager. They count and decode what the kernel reported, so that one of their lines is often
all that is left of an error in a log that rotated.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Kind
from triage.signatures.host_line import CORRECTED, ERROR, FATAL, WARN, HostFamily, says
from triage.signatures.job_line import ADVICE, ROOT
from triage.signatures.signature import Reading, Scope

__all__ = ["SIGNATURES"]

DAEMON = HostFamily("daemon", Kind.MEMORY)
FABRIC = (Category.NETWORK, Category.GPU)


def counted(found: re.Match[str], _after: Sequence[str]) -> Reading:
    """Corrected or not, and the module."""
    uncorrected = says(found, "class").startswith(("uncorrected", "fatal", "ue"))
    fields = {"severity": FATAL if uncorrected else CORRECTED}
    if part := says(found, "label"):
        fields["part"] = part
    return Reading(role=None if uncorrected else ADVICE, weak=not uncorrected, fields=fields)


def nvswitch(found: re.Match[str], _after: Sequence[str]) -> Reading:
    """What does not end the fabric is only a warning."""
    fatal = says(found, "class") == "fatal"
    return Reading(fields={"severity": FATAL if fatal else WARN})


DAEMON.line(
    "memory_event",
    ROOT,
    None,
    ("mc_event:",),
    r"\bmc_event:[^\n]{0,60}? \d{1,9} (?P<class>Corrected|Uncorrected|Fatal|Deferred) errors?:"
    r"[^\n]{0,80}?(?: (?:on|at) (?P<label>[\w#:/ .-]{2,80}?) ?\(|$| \()",
    (
        "rasdaemon[812]: <...>-77 [003] 0.000049: mc_event: 2026-03-04 05:06:07 +0000 1 Corrected"
        " error: memory read error on CPU_SrcID#0_MC#1_Chan#0_DIMM#0 (mc: 1 location: 0:0)",
        "rasdaemon: mc_event: 1 Uncorrected error: memory read error on P1-DIMMA1 (mc: 0)",
    ),
    ("rasdaemon: ras:mc_event event enabled", "mc_event: none"),
    "rasdaemon: ras-mc-handler.c",
    category=Category.HOST_MEMORY,
    scope=Scope.ANY,
    read=counted,
)
DAEMON.line(
    "page_threshold",
    ADVICE,
    WARN,
    ("corrected memory errors on page", "memory error count for", "corrected error count exceed"),
    r"Corrected memory errors on page [0-9a-f]{1,16} exceed(?:ed)? threshold"
    r"|[Mm]emory error count for '[^'\n]{1,80}' exceeded threshold"
    r"|corrected error count exceed\w{0,3} (?:the )?threshold",
    (
        "mcelog: Corrected memory errors on page 12f4a7000 exceed threshold 10 in 24h: 10 in 24h",
        "mcelog[911]: Corrected memory errors on page 7b3d44000 exceeded threshold: 10 in 24h",
        "mcelog: corrected DIMM memory error count exceeded threshold: corrected error count"
        " exceeded threshold",
    ),
    ("mcelog: Running trigger `page-error-trigger'", "memory errors on page 7 of the manual"),
    "mcelog: page.c, dimm trigger",
    category=Category.HOST_MEMORY,
    weak=True,
    scope=Scope.ANY,
)
DAEMON.line(
    "disk_health",
    ROOT,
    ERROR,
    ("failed smart self-check", "smart failure", "critical warning (0x", "back up data now"),
    r"Device: (?P<device>/dev/\w{2,20})[^\n]{0,40}?,? (?:FAILED SMART self-check|SMART Failure"
    r"|Critical Warning \(0x(?!00)[0-9a-f]{2}\))",
    (
        "smartd[1203]: Device: /dev/sda [SAT], FAILED SMART self-check. BACK UP DATA NOW!",
        "smartd[1203]: Device: /dev/nvme0, Critical Warning (0x04): Reliability",
    ),
    (
        'smartd[1203]: Device: /dev/sda [SAT], is SMART capable. Adding to "monitor" list.',
        "smartd[1203]: Device: /dev/nvme0, Critical Warning (0x00)",
    ),
    "smartmontools: smartd",
    category=Category.SSD,
    kind=Kind.STORAGE,
    scope=Scope.ANY,
)
DAEMON.line(
    "disk_sectors",
    ROOT,
    WARN,
    ("currently unreadable (pending) sectors", "offline uncorrectable sectors"),
    r"Device: (?P<device>/dev/\w{2,20})[^\n]{0,40}?, (?P<sectors>[1-9]\d{0,9}) (?:Currently"
    r" unreadable \(pending\)|Offline uncorrectable) sectors",
    (
        "smartd[1203]: Device: /dev/sdb [SAT], 8 Currently unreadable (pending) sectors",
        "smartd[1203]: Device: /dev/sdb [SAT], 2 Offline uncorrectable sectors",
    ),
    ("smartd: 0 Currently unreadable (pending) sectors",),
    "smartmontools: smartd",
    category=Category.SSD,
    kind=Kind.STORAGE,
    scope=Scope.ANY,
)
DAEMON.line(
    "fabric_manager_error",
    ROOT,
    None,
    ("detected nvswitch ", "detected nvlink "),
    r"detected (?:NVSwitch|NVLink) (?P<class>non-fatal|fatal) error (?P<error>\d{4,5})?",
    (
        "nv-fabricmanager[2002]: detected NVSwitch fatal error 20009 on fid:0 on NVSwitch pci bus"
        " id:00000000:06:00.0 physical id:9 port:41",
        "[ERROR] [tid 2002] detected NVSwitch non-fatal error 12028 on fid:0 on NVSwitch pci bus"
        " id:00000000:08:00.0 physical id:10 port:59",
    ),
    ("detected NVSwitch driver version 550.54", "no NVSwitch fatal error was detected"),
    "NVIDIA fabric manager: its log",
    category=Category.NVLINK,
    also=FABRIC,
    kind=Kind.LINK,
    scope=Scope.ANY,
    read=nvswitch,
)
DAEMON.line(
    "fabric_manager_training",
    ROOT,
    ERROR,
    ("nvlink connection training failed", "failed to train nvlink", "nvlinks are not trained"),
    r"[Nn][Vv][Ll]ink connection training failed|[Ff]ailed to train [Nn][Vv][Ll]ink"
    r"|some NVLinks are not trained",
    ("nv-fabricmanager[2002]: failed to train NVLink connection between GPU 3 and NVSwitch 1",),
    ("all NVLink connections are trained",),
    "NVIDIA fabric manager: its log",
    category=Category.NVLINK,
    also=FABRIC,
    kind=Kind.LINK,
    scope=Scope.ANY,
)

SIGNATURES = DAEMON.signatures()
