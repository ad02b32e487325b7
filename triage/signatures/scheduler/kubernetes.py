"""Kubernetes and what runs jobs on it: events, node conditions, evictions, preemption.

An event names its object, mostly a pod or a node, wherever it is printed; a pod's node is
known from the event that bound it. Who drains, taints, preempts or evicts ends the job from
outside; a node that is not ready has some cause of its own.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from triage.domain.category import Category
from triage.domain.evidence import LASTING, Blame, Kind, Trait
from triage.signatures.family import FATAL, NOISE, WARN, HostFamily, says
from triage.signatures.host.agent_words import part_of_reason
from triage.signatures.scheduler.node_names import HOST, named
from triage.signatures.signature import Reading, Scope

__all__ = ["SIGNATURES"]

MAINTENANCE: Final = Category.HOST_MAINTENANCE
LOST: Final = (Category.CHASSIS, Category.POWER, Category.NETWORK)
SOURCE: Final = "Kubernetes: node controller, taint eviction, kubelet, scheduler, kubectl"
QUEUES: Final = "Kueue, Volcano, JobSet, Kubeflow training operator, KubeRay, Run:ai"
DETECTOR: Final = "node-problem-detector and NVSentinel: node conditions"
# How an event's line or a message names the node that it is about.
ON_NODE: Final = re.compile(
    rf"\bnodes?[/ =:\"']{{1,3}}(?P<node>{HOST})|\bnode-name[=:]\"?(?P<other>{HOST})", re.IGNORECASE
)
# In front of the message in the table of events: "pod/llm-worker-5", "node/gpu-17".
OBJECT: Final = re.compile(
    rf"(?<![\w/.-])(?P<kind>pod|node|Pod|Node)/(?P<name>(?:[\w.-]{{1,80}}/)?{HOST})"
)
EVICTED_FROM: Final = re.compile(
    rf"evicted by the eviction API from (?P<node>{HOST})|\bdrained for \w{{1,20}} of node"
    rf" (?P<drained>{HOST})"
)
NO_NODE: Final = frozenset(
    {"is", "was", "has", "had", "condition", "conditions", "status", "not", "will", "and", "or",
     "in", "on", "to", "the", "for", "with", "controller", "affinity", "selector", "shutdown",
     "pressure", "problem", "drain", "lifecycle", "label", "taint", "taints", "group", "pool",
     "level", "draining", "failure", "ready", "notready", "maintenance", "became", "went", "that",
     "names", "name", "s", "restart", "does", "did", "which", "lost", "object"}
)  # fmt: skip


def about(text: str) -> dict[str, str]:
    """The node, else the pod, that a line is about."""
    evicted = EVICTED_FROM.search(text)
    if evicted is not None:
        name = (evicted["node"] or evicted["drained"]).rstrip(".,:;")
        return {"node": name, "said_of": name}
    for match in OBJECT.finditer(text):
        name = match["name"].rpartition("/")[2].rstrip(".,:;")
        if match["kind"].lower() == "node":
            return {"node": name, "said_of": name}
    for match in ON_NODE.finditer(text):
        name = (match["node"] or match["other"] or "").rstrip(".,:;")
        if name and name.lower() not in NO_NODE:
            return {"node": name, "said_of": name}
    found_pod = OBJECT.search(text)
    if found_pod is not None:
        name = found_pod["name"].rpartition("/")[2].rstrip(".,:;")
        return {"node": name, "said_of": name, "pod": name}
    pod = POD.search(text)
    if pod is not None:
        name = pod["pod"].rpartition("/")[2].rstrip(".,:;")
        return {"node": name, "said_of": name, "pod": name}
    return {}


def announced(match: re.Match[str], after: Sequence[str]) -> Reading:
    """A notice of what will end the node: it comes minutes ahead, and holds."""
    reading = node_of_event(match, after)
    return replace(reading, fields={**reading.fields, LASTING: "1"})


def preempted(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """Whose pod had to go is said by the node that it ran on, where the line names one."""
    if re.search(r"DisruptionTarget\W{1,40}False", match.string):
        return None
    on = re.search(rf" on node (?P<node>{HOST})", match.string[match.start() :])
    if on is None:
        return Reading()
    name = on["node"].rstrip(".,:;")
    return Reading(blame=Blame.SELF, fields={"node": name, "said_of": name})


POD: Final = re.compile(
    r"(?:\b[Pp]od[ =:\"']{1,3}|[Ee]victing pod )(?P<pod>(?:[\w.-]{1,80}/)?[a-z0-9]"
    r"[a-z0-9.]{0,60}-[\w.-]{1,120})"
)


# Somebody's plan: what else drains a node acts on what it found there.
PLANNED: Final = re.compile(r"mainten|upgrad|kernel update|reboot|reclaim|scale.?down", re.I)


def node_of_event(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Whose node it is, as far as the line says."""
    return Reading(fields=about(match.string[:2000]))


def ready(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Not ready is an outage, ready its end."""
    fields = {**named(match, "node", "object")} or about(match.string[:2000])
    if says(match, "state") in ("ready", "nodeready"):
        return Reading(role=NOISE, category=Category.NONE, fields={**fields, "recovered": "yes"})
    return Reading(fields=fields)


def condition(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """A condition of a node that says a problem; its own words name the part."""
    if says(match, "status") in ("false", "unknown", "ishealthy"):
        return None
    part = part_of_reason(match.string[match.start() :])
    if part.category is None or part.category is MAINTENANCE:
        return None
    return Reading(
        category=part.category,
        also=part.also,
        gpu=part.gpu,
        fields={**about(match.string[:2000]), **part.fields},
    )


def pressure(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """What a node runs out of: its local disk, its memory."""
    what = f"{says(match, 'what')} {says(match, 'resource')}"
    category = Category.HOST_OOM if re.search(r"memory|pid", what) else None
    return Reading(category=category, fields=about(match.string[:2000]))


KUBE = HostFamily(
    "kubernetes", Kind.SCHEDULER, traits=(Trait.ENDS_JOB,), scope=Scope.ANY, each=True
)

KUBE.consequence(
    "ready",
    rf"Node (?P<node>{HOST}) status is now: (?P<state>NodeNotReady|NodeReady)"
    rf"|(?P<reason>NodeNotReady|KubeletNotReady)\b(?:[^\n]{{0,60}}?\bnode/(?P<object>{HOST}))?"
    r"|\bNode is not ready\b",
    literals=("nodenotready", "status is now: nodeready", "kubeletnotready", "node is not ready"),
    matches=(
        "Normal  NodeNotReady  3m  node-controller  Node gpu-17 status is now: NodeNotReady",
        "Normal  NodeReady  1m  kubelet  Node gpu-17 status is now: NodeReady",
        "Warning  NodeNotReady  pod/train-5  Node is not ready",
    ),
    near_misses=("the NodeReady condition",),
    source=SOURCE,
    severity=FATAL,
    category=MAINTENANCE,
    also=LOST,
    weak=True,
    traits=(Trait.ROOT_WHEN_ALONE,),
    read=ready,
)
KUBE.consequence(
    "kubelet_silent",
    r"Kubelet stopped posting node status|NodeStatusUnknown"
    r"|node\.kubernetes\.io/unreachable:?[=\w]{0,40}?NoExecute(?! op=Exists for)",
    literals=(
        "kubelet stopped posting node status",
        "nodestatusunknown",
        "node.kubernetes.io/unreachable",
    ),
    matches=(
        "Ready  Unknown  NodeStatusUnknown  Kubelet stopped posting node status.",
        "Taints:  node.kubernetes.io/unreachable:NoExecute",
    ),
    near_misses=(
        "kubelet posts node status",
        "node.kubernetes.io/unreachable:NoExecute op=Exists for 300s",
    ),
    source=SOURCE,
    severity=FATAL,
    category=MAINTENANCE,
    also=LOST,
    weak=True,
    traits=(Trait.ROOT_WHEN_ALONE,),
    read=node_of_event,
)
KUBE.root(
    "drain",
    rf"\bnode/(?P<node>{HOST}) (?:already )?(?P<step>cordoned|drained)\b"
    rf"|\b[Nn]ode (?P<named>{HOST}) (?:was |is |has been |is being )?(?:cordoned|drained)\b"
    rf"|Node (?P<cordoned>{HOST}) status is now: NodeNotSchedulable|NodeNotSchedulable"
    r"|marking node as unschedulable|[Ee]victing pod (?P<pod>[\w.-]{1,100}(?:/[\w.-]{1,100})?)"
    rf"|[Dd]rain(?:ing)? (?:of )?node[ :]\"?(?P<draining>{HOST})|[Nn]ode drain\b(?! ?timeout)"
    r"|NodeDrain\b|\bdrain(?:ing|ed) for (?:maintenance|upgrade|repair|reboot)"
    r"|TerminationByKubernetes|EvictionByEvictionAPI|being drained|\bNodeMaintenance\b",
    literals=(
        " cordoned",
        "nodenotschedulable",
        "marking node as unschedulable",
        " drained",
        "evicting pod ",
        "draining node",
        "draining for ",
        "drain of node",
        "node drain",
        "drain node",
        "nodedrain",
        "terminationbykubernetes",
        "evictionbyevictionapi",
        "being drained",
        "cordoned and drain",
        "nodemaintenance",
        "drained for ",
    ),
    matches=(
        "node/gpu-17 cordoned",
        "node/gpu-17 drained",
        "evicting pod training/llm-worker-5",
        "Normal NodeNotSchedulable 4s kubelet Node gpu-17 status is now: NodeNotSchedulable",
        "controller: draining node gpu-17 for kernel upgrade",
        "kubelet: Pod llm-worker-5 evicted: node gpu-17 cordoned and draining for maintenance",
        "Normal NodeMaintenance node/gpu-17 cordoned by maintenance-operator: BIOS update",
        "Normal Evicted pod/llm-worker-7 Evicted pod: drained for upgrade of node gpu-17",
        "INFO: received SIGTERM, node drain: terminationGracePeriodSeconds=30",
    ),
    near_misses=("node/gpu-17 uncordoned", "the queue is drained", "node drain timeout is 300s"),
    source=SOURCE,
    severity=WARN,
    category=MAINTENANCE,
    weak=True,
    read=lambda match, _after: Reading(
        fields={**named(match, "node", "named", "cordoned", "draining")}
        or about(match.string[:2000]),
        weak=False if PLANNED.search(match.string) else None,
    ),
)
KUBE.root(
    "eviction",
    r"TaintManagerEviction|ExceededGracePeriod|The node had condition: \[(?P<condition>\w{3,40})\]"
    r"|DeletionByTaintManager|TerminationByKubelet|Marking for deletion [Pp]od|"
    r"NodeControllerEviction",
    literals=(
        "taintmanagereviction",
        "exceededgraceperiod",
        "the node had condition",
        "deletionbytaintmanager",
        "deletingpod",
        "terminationbykubelet",
        "marking for deletion pod",
        "nodecontrollereviction",
    ),
    matches=(
        "Normal  TaintManagerEviction  2s  taint-eviction  Marking for deletion Pod ns/worker-5",
        "Warning  Evicted  9s  kubelet  The node had condition: [DiskPressure].",
        "  DisruptionTarget  True  DeletionByTaintManager",
    ),
    near_misses=(
        "cache entry evicted by size",
        "Normal TaintManagerEviction 2s taint-eviction Cancelling deletion of Pod ns/worker-5",
    ),
    source=SOURCE,
    category=MAINTENANCE,
    weak=True,
    read=lambda match, after: (
        None if "ancelling deletion" in match.string else node_of_event(match, after)
    ),
)
KUBE.root(
    "pressure",
    r"\bNodeHas(?P<what>Disk|Memory|PID)Pressure\b"
    r"|EvictionThresholdMet.{0,80}?reclaim (?P<resource>[\w-]{1,40})",
    literals=(
        "nodehasdiskpressure",
        "nodehasmemorypressure",
        "nodehaspidpressure",
        "evictionthresholdmet",
    ),
    matches=(
        "Normal NodeHasDiskPressure node/gpu-17 Node gpu-17 status is now: NodeHasDiskPressure",
        "Warning EvictionThresholdMet node/gpu-17 Attempting to reclaim ephemeral-storage",
    ),
    near_misses=(
        "Normal NodeHasNoDiskPressure node/gpu-17 Node gpu-17 status is now: NodeHasNoDiskPressure",
    ),
    source="Kubernetes: kubelet, eviction manager",
    severity=WARN,
    category=Category.STORAGE,
    also=(MAINTENANCE,),
    weak=True,
    read=pressure,
)
KUBE.root(
    "shutdown",
    r"Shutdown manager detected new shutdown event|[Nn]ode is shutting down|\bNodeShutdown\b"
    r"|imminent node shutdown|[Pp]od was rejected as the node is shutting down"
    r"|Pod was terminated in response to",
    literals=(
        "shutdown manager detected new shutdown event",
        "node is shutting down",
        "nodeshutdown",
        "imminent node shutdown",
        "node is shutting down, evicting",
        "node shutdown",
    ),
    matches=(
        '"Shutdown manager detected new shutdown event, isNodeShuttingDownNow" event="shutdown"',
        "Pod was terminated in response to imminent node shutdown.",
    ),
    near_misses=("the node is shutting doors", "graceful node shutdown is off"),
    source=SOURCE,
    category=MAINTENANCE,
    read=node_of_event,
)
KUBE.root(
    "provider",
    r"\b(?:Preempt|Reboot|Redeploy|Terminate)Scheduled\b|\bSpotInterrupt(?:ion|ed)\b"
    r"|[Nn]ode (?:\S{1,128} )?will be preempted by|\bDisruptionTerminating\b"
    r"|Disrupting Node(?:Claim)?:"
    r"|(?:aws-node-termination-handler/(?:spot-itn|scheduled\S{1,40})"
    r"|cloud\.google\.com/impending-node-termination|ToBeDeletedByClusterAutoscaler"
    r"|karpenter\.sh/disrupted|node\.cloudprovider\.kubernetes\.io/shutdown"
    r"|node\.kubernetes\.io/out-of-service)(?:=[\w.-]{0,60})?:No(?:Schedule|Execute)(?! op=Exists)",
    literals=(
        "preemptscheduled",
        "rebootscheduled",
        "redeployscheduled",
        "terminatescheduled",
        "spotinterrupt",
        "will be preempted by",
        "/spot-itn",
        "impending-node-termination",
        "tobedeletedbyclusterautoscaler",
        "karpenter.sh/disrupted",
        "disruptionterminating",
        "disrupting node",
        "cloudprovider.kubernetes.io/",
        "node-termination-handler/scheduled",
        "kubernetes.io/out-of-service",
    ),
    matches=(
        "Warning PreemptScheduled node/gpu-17 Node will be preempted by its provider",
        "Normal  RebootScheduled  2m  custom-scheduledevents-plugin-preemption-monitor"
        "  Scheduled event: reboot of node gpu-17",
        "Warning  SpotInterruption  1s  aws-node-termination-handler  Spot ITN received for"
        " node/gpu-17. Instance will be interrupted",
        "node/gpu-17 tainted ToBeDeletedByClusterAutoscaler=1790000000:NoSchedule",
        "Normal DisruptionTerminating node/gpu-17 Disrupting Node: Underutilized/Delete",
    ),
    near_misses=(
        "PreemptScheduled  False  NoPreemptScheduled  VM has no scheduled Preempt event",
        "Tolerations:  node.kubernetes.io/out-of-service:NoExecute op=Exists",
    ),
    source="Azure's scheduled events in AKS, aws-node-termination-handler, Karpenter,"
    " cluster-autoscaler",
    category=MAINTENANCE,
    read=lambda match, after: (
        None
        if re.search(r"Scheduled[ \t]{1,8}False|NoPreempt", match.string)
        else announced(match, after)
    ),
)
KUBE.noise(
    "pod_bound",
    rf"Successfully assigned (?:[\w.-]{{1,80}}/)?(?P<pod>{HOST}) to (?P<node>{HOST})",
    literals=("successfully assigned ",),
    matches=(
        "Normal  Scheduled  9m  default-scheduler  Successfully assigned ml/llm-worker-5 to gpu-17",
    ),
    near_misses=("ranks were successfully assigned to groups",),
    source=SOURCE,
    kind=Kind.IDENTITY,
)
KUBE.root(
    "preempted",
    r"(?:has been|was|being) preempted\b|Preempted in order to admit"
    r"|[Pp]reempted by (?:a )?(?:higher|pod|workload|job|task|scheduler|queue|\S{1,60} on node)"
    r"|PreemptionByScheduler|PreemptedByScheduler"
    r"|\bDisruptionTarget\b(?=[^\n]{0,200}?(?:True|true|[Pp]reempt|Status|status|$))"
    r"|EvictedDueToPreempted|Evicted due to preempt|to accommodate a workload"
    r"|due to reclamation within the cohort|\bIn(?:ClusterQueue|CohortReclaim)\w{0,30}\b"
    r"|[Ee]vict(?:ed|ing)? [^\n]{0,60}?because of preempt",
    literals=(
        "has been preempted",
        "was preempted",
        "being preempted",
        "preempted by ",
        "preempted in order to admit",
        "preemptedbyscheduler",
        "preemptionbyscheduler",
        "disruptiontarget",
        "evictedduetopreempted",
        "workloadpreempted",
        "evicted due to preempt",
        "to accommodate a workload",
        "due to reclamation within the cohort",
        "inclusterqueue",
        "incohortreclaim",
        "podgroupevicted",
        "preempt victim",
        "preempting pod",
        "was preempted to",
    ),
    matches=(
        "Normal  Preempted  1s  default-scheduler  Preempted by pod 7be1 on node gpu-3",
        "Normal  Preempted  4s  kueue-admission  Preempted to accommodate a workload (UID: 8f0a,"
        " JobUID: 771) due to prioritization in the ClusterQueue",
        "  DisruptionTarget   True ",
        "the job was preempted to make room",
    ),
    near_misses=("nothing was ever preemptible", "  DisruptionTarget   False"),
    source=f"{SOURCE}; {QUEUES}",
    category=MAINTENANCE,
    blame=Blame.SHARED,
    read=preempted,
)
KUBE.root(
    "job_suspended",
    r"(?:JobSet|[Jj]ob|PyTorchJob|RayJob|MPIJob)(?: \S{1,120})? (?:is|was|has been) suspended\b"
    r"|[Ww]orkload (?:is|was) evicted|EvictedDueTo(?:PodsReadyTimeout|Deactivated)\w{0,20}"
    r"|was active longer than specified deadline|Job has reached the specified deadline",
    literals=(
        "is suspended",
        "jobset was suspended",
        "job suspended",
        "workload is evicted",
        "evictedduetopodsready",
        "evictedduetodeactivated",
        "deadlineexceeded",
        "was active longer than specified deadline",
        "job has reached the specified deadline",
        "activedeadlineseconds",
    ),
    matches=(
        "Normal  JobSuspended  5s  pytorchjob-controller  PyTorchJob llm is suspended.",
        "Warning  DeadlineExceeded  2s  job-controller  Job was active longer than specified"
        " deadline",
    ),
    near_misses=("rpc error: code = DeadlineExceeded", "the job is not suspended"),
    source=QUEUES,
    category=MAINTENANCE,
    blame=Blame.SHARED,
)
KUBE.root(
    "node_condition",
    r"\b(?P<type>(?:Gpu|GPU|Nvlink|NVLink|InfiniBand|Infiniband|IB|SysLogs|Kernel|Cper|Readonly|Nic"
    r"|NIC|Ethernet|Memory|Disk|PCIe)[A-Za-z]{2,40})\b[ \t\"=:,]{1,12}(?:status\"?[=:] ?\"?)?"
    r"(?P<status>True|False|Unknown|Warning|[A-Z]\w{3,40}IsNotHealthy)\b[^\n]{0,600}",
    literals=(
        "isnothealthy",
        "kerneldeadlock",
        "readonlyfilesystem",
        "cperhardwareerror",
        "gpuunhealthy",
        "gpu_unhealthy",
        "gpuproblem",
        "nvlinkproblem",
        "infinibandproblem",
        "ibproblem",
        "xiderror",
        "gpufallenoff",
        "gpuhealth",
        "gpuhealthcheck",
    ),
    matches=(
        "  GpuNvlinkWatch  True  Sat, 14 Mar 2026 02:41:05 +0000  GpuNvlinkWatchIsNotHealthy "
        " ErrorCode:DCGM_FR_NVLINK_DOWN GPU:5 link 11 is down",
        "Event SysLogsGPUFallenOff SysLogsGPUFallenOffIsNotHealthy node/gpu-17: ErrorCode:79 GPU:5"
        " GPU has fallen off the bus",
    ),
    near_misses=(
        "  KernelDeadlock  False  KernelHasNoDeadlock  kernel has no deadlock",
        "  GpuMemWatch  False  GpuMemWatchIsHealthy  No Health Failures",
    ),
    source=DETECTOR,
    category=Category.GPU,
    weak=True,
    kind=Kind.GPU,
    traits=(Trait.ROOT_WHEN_ALONE,),
    read=condition,
)
KUBE.advice(
    "back_off",
    r"[Bb]ack-off restarting failed|BackoffLimitExceeded"
    r"|reached the specified backoff limit",
    literals=("back-off restarting failed", "backofflimitexceeded", "backoff limit"),
    matches=(
        "Warning  BackOff  1m  kubelet  Back-off restarting failed container worker in pod llm-5",
    ),
    near_misses=("the back-off is 2 s",),
    source=SOURCE,
    blame=Blame.NOBODY,
    each=False,
)

SIGNATURES = KUBE.signatures()
