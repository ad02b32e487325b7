"""Health agents of nodes and GPUs in their own words: NHC, DCGM, gpud, NVSentinel, epilogs.

Such an agent reads what others report and words it anew. Its line names a part and mostly
the GPU or the node; it is said after the fact and by hearsay, so it needs another source.
"""

import re
from collections.abc import Sequence
from typing import Final

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind, Trait
from triage.signatures.family import CONSEQUENCE, WARN, HostFamily, says
from triage.signatures.gpu.catalogue import xid
from triage.signatures.host.agent_words import gpu_fields, part_of_reason
from triage.signatures.scheduler.node_names import HOST, named
from triage.signatures.signature import Reading, Scope

__all__ = ["SIGNATURES"]

NHC: Final = "LBNL Node Health Check: nhc and its helpers"
DCGM: Final = "NVIDIA DCGM: health watches, policies and nv-hostengine's log"
GPUD: Final = "gpud, NVSentinel, HyperPod and other agents: health events"
EPILOG: Final = "prolog, epilog and health scripts of sites"
# "host=gpu-17", "node: gpu-17", "on node gpu-17", "nodeName=gpu-17"
NODE: Final = re.compile(
    rf"\b(?:host(?:name)?|node(?:_?name)?)[=:] ?[\"']?(?P<node>{HOST})"
    rf"|\bon (?:node|host) (?P<on>{HOST})",
    re.IGNORECASE,
)
HEALTHY: Final = re.compile(
    r"is ?healthy[\"']?[ :=]{1,3}true|\bhealthy[\"']?[ :=]{1,3}true|no (?:health )?(?:failures|"
    r"issues|errors?)\b|\b0 (?:failures|errors)\b|\ball (?:checks )?pass|recovered|cleared",
    re.IGNORECASE,
)


def node_in(text: str) -> dict[str, str]:
    """The node that an agent's line names."""
    match = NODE.search(text)
    if match is None:
        return {}
    name = (match["node"] or match["on"]).rstrip(".,:;")
    return {"node": name, "said_of": name} if re.search(r"\d|-", name) else {}


def by_words(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """The part, the GPU and the node in the words from the match on; None where it is well."""
    text = match.string[match.start() : match.start() + 600]
    if HEALTHY.search(text):
        return None
    part = part_of_reason(text)
    fields = {**node_in(match.string[:2000]), **part.fields, **named(match, "node", "marked")}
    if part.category is None:
        return Reading(fields=fields)
    return Reading(category=part.category, also=part.also, gpu=part.gpu, fields=fields)


DCGM_PARTS: Final = (
    (("DBE", "ROW_REMAP", "RETIRED", "PENDING_PAGE", "UNCORRECT", "ECC"), Category.GPU_HBM),
    (("SRAM",), Category.GPU_SRAM),
    (("NVLINK", "NVSWITCH", "IMEX", "FABRIC"), Category.NVLINK),
    (("THERMAL", "TEMP"), Category.GPU_THERMAL),
    (("CLOCK_THROTTLE_POWER", "POWER"), Category.POWER),
    (("PCI", "FALLEN_OFF", "BAR1"), Category.IO_BOARD),
)


def dcgm_code(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """DCGM's name of an error."""
    code = (match["code"] or "").upper()
    gpu, fields = gpu_fields(match.string[:1000])
    category = next((c for words, c in DCGM_PARTS if any(w in code for w in words)), Category.GPU)
    if "FALLEN_OFF" in code or "LOST" in code:
        category = Category.GPU
    if "CLOCK_THROTTLE_POWER" in code:
        return Reading(category=category, gpu=gpu, fields={**fields, "severity": WARN})
    return Reading(category=category, gpu=gpu, fields={**fields, **node_in(match.string[:2000])})


def printed_code(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """An Xid in an agent's sentence: the number says the part as in the driver's own line."""
    text = match["xid"] or match["code_said"]
    entry = None if text is None else xid(int(text))
    if entry is None or HEALTHY.search(match.string[:600]):
        return None
    gpu, fields = gpu_fields(match.string[:2000])
    return Reading(
        category=entry.category,
        also=entry.also,
        role=entry.role,
        gpu=gpu,
        fields={**fields, **node_in(match.string[:2000]), "xid": text or ""},
    )


AGENT = HostFamily(
    "agent", Kind.GPU, traits=(Trait.OF_A_REPORT,), weak=True, scope=Scope.ANY, each=True
)

AGENT.root(
    "node_check",
    r"\b(?:[Hh]ealth[ _]?[Cc]heck failed|HealthCheckProgram[^\n]{0,40}? (?:failed|returned [1-9]))"
    r"\s?:?(?P<what>[^\n]{0,300})",
    literals=(
        "health check failed",
        "health_check failed",
        "healthcheck failed",
        "healthcheckprogram",
    ),
    matches=(
        "nhc: Health check failed:  check_hw_ib:  No IB port mlx5_3:1 is ACTIVE (LinkUp).",
        "[2026-03-04T05:06:07.977] error: health_check failed: rc:1 output:ERROR:  nhc:  Health"
        " check failed:  check_nvsmi_healthmon: GPU 5 unhealthy",
    ),
    near_misses=(
        "nhc: Node Health Check completed successfully (1s).",
        "health checks failed over: none",
    ),
    source=NHC,
    category=Category.CHASSIS,
    read=by_words,
)
AGENT.consequence(
    "marked_offline",
    rf"[Mm]arking (?:node )?(?P<marked>{HOST}) (?:offline|unhealthy|unschedulable|as (?:unhealthy"
    r"|bad|degraded))\b:?[^\n]{0,300}",
    literals=("marking ", "node-mark-offline"),
    matches=(
        "node-mark-offline: Marking gpu017 offline:  NHC: check_nvidia_smi: GPU fell off the bus",
        "remediator: marking node gpu017 as unhealthy: IB link flapping on mlx5_2",
    ),
    near_misses=("marking the page as bad",),
    source=NHC,
    severity=WARN,
    category=Category.CHASSIS,
    traits=(Trait.ROOT_WHEN_ALONE,),
    read=by_words,
)
AGENT.root(
    "xid",
    r"(?<!NVRM: )\b(?:xid|XID|Xid)(?:[ _-]?(?:error|errors|critical error|event|code))?"
    r"(?: detected| reported| received)?[ :=#\"']{1,4}(?P<xid>\d{1,3})\b(?![\d.:])"
    r"|\bErrorCode:(?P<code_said>\d{1,3})\b|\bDCGM_FI_DEV_XID_ERRORS\b[^\n]{0,60}?(?P<counter>\d)",
    literals=(
        "xid detected",
        " xid error",
        "xid errors on",
        "detected xid",
        "got xid",
        "errorcode:",
        "xiderror",
        "xid_error",
        "xid critical error",
        "critical xid",
        "gpu xid",
        "dcgm_fi_dev_xid",
        "xid 79 ",
        "xid 48 ",
        "xid 94 ",
        "xid 95 ",
        "xid 119 ",
        "xid 74 ",
        "xid 145 ",
        "xid 149 ",
        "xid 64 ",
        "xid 63 ",
        "xid 31 ",
        "xid 13 ",
        "xid 62 ",
        "xid 109 ",
        "xid: ",
        "xid=",
    ),
    matches=(
        "XID 79 detected on PCI:0000:6d:00",
        "dcgm-exporter: detected XID error 94 on GPU 3",
        "policy violation: XID error: 48 GPU 00000000:5D:00.0",
        "ErrorCode:119 PCI:0000:6d:00 GSP RPC timeout Recommended Action=COMPONENT_RESET;",
    ),
    near_misses=("xid=8f3a transaction", "ErrorCode:none", "XID detected: 0"),
    source=f"{GPUD}; {DCGM}",
    category=Category.GPU,
    read=printed_code,
)


AGENT.root(
    "dcgm_error",
    r"\bDCGM_FR_(?P<code>[A-Z0-9_]{3,60})",
    literals=("dcgm_fr_",),
    matches=(
        "ErrorCode:DCGM_FR_NVLINK_DOWN GPU:5 GPU 5's NvLink link 11 is currently down",
        "Health: DCGM_FR_VOLATILE_DBE_DETECTED on GPU 3",
    ),
    near_misses=("dcgm_fr_ is the prefix",),
    source=DCGM,
    category=Category.GPU,
    also=(Category.GPU_HBM, Category.NVLINK, Category.IO_BOARD),
    read=dcgm_code,
)
AGENT.root(
    "dcgm_words",
    r"(?:[Dd]etected|[Tt]otal of|GPU \d{1,2} has|has) [^\n]{0,40}?(?:volatile double-bit|double-bit"
    r" ECC|uncorrectable remapped rows?)|[Rr]ow remap(?:ping)? failure(?! ?(?:occurred)?\s*: No)"
    r"|NvLink link \d{1,2}(?: is| on GPU \d{1,2} is)? (?:currently )?down"
    r"|[Dd]etected more than \d{1,6} (?:PCIe|NVLink|PCI)[^\n]{0,80}"
    r"|GPU[^\n]{0,40}? fell off the bus"
    r"|\b(?:GPU|[Gg]pu)s?[ :=#_-]{0,2}[\w:.-]{0,60} (?:is|are|was|marked|reported) (?:as )?"
    r"(?:[Uu]nhealthy|UNHEALTHY)",
    literals=(
        "volatile double-bit error",
        "double-bit ecc error",
        "uncorrectable remapped row",
        "row remapping failure",
        "row remap failure",
        "nvlink link ",
        "detected more than",
        "pcie replays",
        "nvlink errors occurred",
        "has fallen off the bus",
        "fell off the bus",
        "is unhealthy",
        "gpu unhealthy",
        "unhealthy gpu",
        "health watch",
        "marked unhealthy",
    ),
    matches=(
        "Detected 2 volatile double-bit ECC error(s) in GPU 3.",
        "GPU 5's NvLink link 11 is currently down Check DCGM and system logs for errors.",
        "Detected more than 8 PCIe replays per minute for GPU 3 : 211",
        "health watcher: GPU 3 is unhealthy, taking it out",
    ),
    near_misses=(
        "Row remapping failure occurred: No",
        "the queue is unhealthy",
        "NvLink link 3 is up",
    ),
    source=f"{DCGM}; {GPUD}",
    category=Category.GPU,
    read=by_words,
)
AGENT.root(
    "event",
    r"\bhealth[=:] ?\"?(?:Unhealthy|Degraded)\b|isFatal[=:] ?true|isHealthy[=:] ?false"
    r"|[Rr]ecommended ?_?[Aa]ction[=:] ?(?:RESTART_BM|RESTART_VM|REPLACE_VM|COMPONENT_RESET"
    r"|CONTACT_SUPPORT|RUN_FIELDDIAG|RUN_DCGMEUD|REBOOT|DRAIN|REPLACE)\w{0,20}"
    r"|HARDWARE_INSPECTION|REBOOT_SYSTEM",
    literals=(
        "health=unhealthy",
        "health: unhealthy",
        '"health":"unhealthy"',
        "health=degraded",
        "isfatal=true",
        "isfatal: true",
        "ishealthy=false",
        "ishealthy: false",
        "recommended action=",
        "recommendedaction=",
        "recommended_action=",
        "repair_actions",
        "suggested_actions",
        "hardware_inspection",
        "reboot_system",
    ),
    matches=(
        "gpud: component=accelerator-nvidia-infiniband health=Unhealthy reason=mlx5_5 is down",
        "platform-connector: checkName=GpuThermalWatch isFatal=true GPU 3 is too hot"
        " nodeName=gpu017",
    ),
    near_misses=("gpud: component=disk health=Healthy reason=ok", "isFatal=false isHealthy=true"),
    source=GPUD,
    category=Category.GPU,
    read=by_words,
)


def scripted(match: re.Match[str], after: Sequence[str]) -> Reading | None:
    """What a site's script found; without a part that it names it says nothing."""
    reading = by_words(match, after)
    if reading is None or reading.category is None:
        return None
    if says(match, "when") != "epilog":
        return reading
    # An epilog looks when the job has ended; what it finds may be what ended it.
    return Reading(
        role=CONSEQUENCE,
        category=reading.category,
        also=reading.also,
        gpu=reading.gpu,
        fields=reading.fields,
        traits=frozenset({Trait.ROOT_WHEN_ALONE}),
    )


AGENT.root(
    "script",
    r"(?:\b(?P<when>[Ee]pilog|[Pp]rolog)\b[^\n]{0,40}?[:=\]]|\b(?:health[-_ ]?agent|node[-_]?health"
    r"(?:[-_]\w{1,20})?|gpu[-_]?health\w{0,10}|healthmon)\b|\[health\])[^\n]{0,120}?"
    r"(?P<bad>\b(?:CRIT(?:ICAL)?|FAIL(?:ED|URE)?|ERR(?:OR)?|[Ff]ailed|[Uu]nhealthy|[Ee]rrors?"
    r"|drain(?:ing|ed)?|quarantin\w{0,4}|missing|lost|above|exceed\w{0,4})\b)",
    literals=(
        "epilog",
        "prolog",
        "health-agent",
        "healthagent",
        "health_agent",
        "node-health",
        "nodehealth",
        "gpu-health",
        "gpuhealth",
        "healthmon",
        "[health]",
        "node_health",
    ),
    matches=(
        "epilog: gpu017: draining, dcgmi diag failed on GPU 3",
        "epilog[9921]: GPU 5 has uncorrectable ECC errors, taking the node out",
        "health-agent: CRITICAL gpu017 gpu 3 (0000:5d:00.0) temperature 95C above slowdown"
        " threshold for 120 s",
    ),
    near_misses=("epilog: done, 0 s", "prolog: all 8 GPUs found"),
    source=EPILOG,
    severity=WARN,
    category=Category.CHASSIS,
    read=scripted,
)


AGENT.consequence(
    "remediation",
    rf"(?:[Rr]emediat\w{{2,6}}|[Qq]uarantin\w{{2,4}}) (?:of |for |started for |triggered for )?"
    rf"(?:node |host )(?P<node>{HOST})[^\n]{{0,200}}",
    literals=("remediation", "quarantin"),
    matches=("fault-quarantine: quarantining node gpu017: rule GPU fatal error",),
    near_misses=("remediation of nothing",),
    source=GPUD,
    severity=WARN,
    category=Category.HOST_MAINTENANCE,
    kind=Kind.SCHEDULER,
    traits=(Trait.ENDS_JOB,),
    read=lambda match, _after: Reading(fields=named(match, "node")),
)
AGENT.noise(
    "well",
    r"Node Health Check completed successfully|[Hh]ealth check passed|Overall Health: Healthy",
    literals=(
        "node health check completed successfully",
        "health check passed",
        "overall health: healthy",
    ),
    matches=("nhc: Node Health Check completed successfully (1s).",),
    near_misses=("Node Health Check failed",),
    source=NHC,
    category=Category.NONE,
    blame=Blame.NOBODY,
    weak=False,
    each=False,
)

SIGNATURES = AGENT.signatures()
