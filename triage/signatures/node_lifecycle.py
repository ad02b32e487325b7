"""A node as its scheduler sees it: lost, drained, cordoned, rebooted, reclaimed.

What a controller says of a node names the node, whoever printed it. A node that stops
answering has some cause of its own, so that alone convicts nothing; a drain or a
reboot that somebody ordered is the cause.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Kind, Trait
from triage.signatures.host_line import ERROR, FATAL, WARN, HostFamily, says
from triage.signatures.job_line import CONSEQUENCE, NOISE, ROOT
from triage.signatures.signature import Reading, Scope

__all__ = ["SIGNATURES"]

NODE = HostFamily("node", Kind.SCHEDULER, traits=(Trait.ENDS_JOB,))
MAINTENANCE = Category.HOST_MAINTENANCE
LOST = (Category.CHASSIS, Category.POWER, Category.NETWORK)
KUBERNETES = "Kubernetes: node controller, kubelet, kubectl, events"
SLURM = "Slurm: slurmctld and slurmd logs"
CLOUD = "cloud maintenance notices"
NAME = r"[\w][\w.-]{0,127}"


def ready(found: re.Match[str], _after: Sequence[str]) -> Reading:
    """Not ready is an outage, ready its end."""
    if says(found, "state") in ("ready", "nodeready"):
        return Reading(role=NOISE, category=Category.NONE, fields={"recovered": "yes"})
    return Reading()


PLANNED = re.compile(r"mainten|reboot|upgrade|update|resum|power|test|reserv|admin", re.IGNORECASE)


def drained(found: re.Match[str], _after: Sequence[str]) -> Reading:
    """The reason that a person or a health check gave; a check follows what it found."""
    reason = says(found, "reason")
    if reason and PLANNED.search(reason) is None:
        return Reading(role=CONSEQUENCE)
    return Reading()


def slurm_state(found: re.Match[str], _after: Sequence[str]) -> Reading:
    """Into service again, or out of it."""
    state = says(found, "state")
    if state.startswith(("idle", "resume", "undrain", "alloc", "mix", "power_up")):
        return Reading(role=NOISE, category=Category.NONE, fields={"recovered": "yes"})
    return Reading()


NODE.line(
    "kubernetes_ready",
    CONSEQUENCE,
    FATAL,
    ("nodenotready", "status is now: nodeready", "kubeletnotready"),
    rf"Node (?P<node>{NAME}) status is now: (?P<state>NodeNotReady|NodeReady)"
    rf"|(?P<reason>NodeNotReady|KubeletNotReady)\b(?:[^\n]{{0,60}}?\bnode/(?P<object>{NAME}))?",
    (
        "Normal  NodeNotReady  3m  node-controller  Node gpu-17 status is now: NodeNotReady",
        "Normal  NodeReady  1m  kubelet  Node gpu-17 status is now: NodeReady",
        "Warning  NodeNotReady  pod/train-5  Node is not ready",
    ),
    ("the NodeReady condition",),
    KUBERNETES,
    category=MAINTENANCE,
    also=LOST,
    weak=True,
    scope=Scope.ANY,
    read=ready,
)
NODE.line(
    "kubelet_silent",
    CONSEQUENCE,
    FATAL,
    ("kubelet stopped posting node status", "nodestatusunknown"),
    r"Kubelet stopped posting node status|NodeStatusUnknown",
    ("Ready  Unknown  NodeStatusUnknown  Kubelet stopped posting node status.",),
    ("kubelet posts node status",),
    KUBERNETES,
    category=MAINTENANCE,
    also=LOST,
    weak=True,
    scope=Scope.ANY,
)
NODE.line(
    "drain",
    ROOT,
    WARN,
    (
        " cordoned",
        "nodenotschedulable",
        "marking node as unschedulable",
        " drained",
        "evicting pod ",
    ),
    rf"\bnode/(?P<node>{NAME}) (?P<step>cordoned|drained)\b"
    rf"|Node (?P<cordoned>{NAME}) status is now:"
    rf" NodeNotSchedulable|marking node as unschedulable|evicting pod (?P<pod>{NAME}(?:/{NAME})?)",
    (
        "node/gpu-17 cordoned",
        "node/gpu-17 drained",
        "evicting pod training/llm-worker-5",
        "Normal NodeNotSchedulable 4s kubelet Node gpu-17 status is now: NodeNotSchedulable",
    ),
    ("node/gpu-17 uncordoned", "the queue is drained"),
    KUBERNETES,
    category=MAINTENANCE,
    scope=Scope.ANY,
    weak=True,
)
NODE.line(
    "eviction",
    ROOT,
    ERROR,
    ("taintmanagereviction", "exceededgraceperiod", "the node had condition"),
    r"TaintManagerEviction|ExceededGracePeriod|The node had condition: \[(?P<condition>\w{3,40})\]",
    (
        "Normal  TaintManagerEviction  2s  taint-eviction  Marking for deletion Pod ns/worker-5",
        "Warning  Evicted  9s  kubelet  The node had condition: [DiskPressure].",
    ),
    ("cache entry evicted by size",),
    KUBERNETES,
    category=MAINTENANCE,
    weak=True,
    scope=Scope.ANY,
)
NODE.line(
    "kubelet_shutdown",
    ROOT,
    ERROR,
    (
        "shutdown manager detected new shutdown event",
        "node is shutting down",
        "nodeshutdown",
    ),
    r"Shutdown manager detected new shutdown event|[Nn]ode is shutting down|\bNodeShutdown\b",
    ('"Shutdown manager detected new shutdown event, isNodeShuttingDownNow" event="shutdown"',),
    ("the node is shutting doors",),
    KUBERNETES,
    category=MAINTENANCE,
    scope=Scope.ANY,
)
NODE.line(
    "rebooted",
    ROOT,
    FATAL,
    ("unexpectedly rebooted", "rebooted unexpectedly", "has been rebooted, boot id"),
    rf"[Nn]ode (?P<node>{NAME}) (?:unexpectedly rebooted|rebooted unexpectedly"
    r"|has been rebooted, boot id: (?P<boot_id>[\w-]{8,40}))",
    (
        "slurmctld: error: Node gpu17 unexpectedly rebooted boot_time=1790000000",
        "Warning  Rebooted  5s  kubelet  Node gpu-17 has been rebooted, boot id: 9c0de000-1",
    ),
    ("nobody rebooted unexpectedly",),
    f"{SLURM}; {KUBERNETES}",
    category=MAINTENANCE,
    also=LOST,
    weak=True,
    scope=Scope.ANY,
)
NODE.line(
    "slurm_back",
    NOISE,
    None,
    (" now responding",),
    rf"[Nn]ode (?P<node>{NAME}) now responding",
    ("slurmctld: Node gpu17 now responding",),
    ("the service is now responding",),
    SLURM,
    category=Category.NONE,
    scope=Scope.ANY,
    read=lambda _found, _after: Reading(fields={"recovered": "yes"}),
)
NODE.line(
    "slurm_lost",
    CONSEQUENCE,
    FATAL,
    ("not responding, setting down", "error: nodes "),
    rf"[Nn]odes? (?P<node>{NAME}) not responding(?P<down>, setting DOWN)?"
    rf"|error: Nodes (?P<nodes>[\w.,\[\]-]{{1,400}}) not responding(?:, setting DOWN)?",
    (
        "slurmctld: error: Nodes gpu17 not responding, setting DOWN",
        "slurmctld: error: Nodes gpu[17-19,22] not responding",
    ),
    ("peers not responding, setting timeout",),
    SLURM,
    category=MAINTENANCE,
    also=LOST,
    weak=True,
    scope=Scope.ANY,
)
NODE.line(
    "slurm_reason",
    ROOT,
    WARN,
    (" reason set to: ", "drain_nodes: "),
    rf"update_node: node (?P<node>{NAME}) reason set to: (?P<reason>[^\n]{{1,160}})"
    rf"|drain_nodes: node (?P<drained>{NAME}) state set to DRAIN",
    (
        "slurmctld: update_node: node gpu17 reason set to: planned maintenance",
        "slurmctld: update_node: node gpu17 reason set to: NHC: check_hw_ib failed",
        "slurmctld: drain_nodes: node gpu17 state set to DRAIN",
    ),
    ("the reason set to: nothing",),
    SLURM,
    category=MAINTENANCE,
    weak=True,
    scope=Scope.ANY,
    read=drained,
)
NODE.line(
    "slurm_state",
    ROOT,
    WARN,
    (" state set to ",),
    rf"update_node: node (?P<node>{NAME}) state set to (?P<state>[A-Z_*+]{{2,30}})",
    (
        "slurmctld: update_node: node gpu17 state set to DRAINING",
        "slurmctld: update_node: node gpu17 state set to DOWN",
        "slurmctld: update_node: node gpu17 state set to IDLE",
    ),
    ("valve state set to OPEN",),
    SLURM,
    category=MAINTENANCE,
    weak=True,
    scope=Scope.ANY,
    read=slurm_state,
)
NODE.line(
    "slurmd",
    ROOT,
    WARN,
    ("slurmd shutdown completing", "slurmd: node reboot request", "node reboot request with"),
    r"[Ss]lurmd shutdown completing|[Nn]ode reboot request",
    (
        "slurmd: Slurmd shutdown completing",
        "slurmd: Node reboot request with features x being processed",
    ),
    ("slurmd started on Sat",),
    SLURM,
    category=MAINTENANCE,
    weak=True,
    scope=Scope.ANY,
)
NODE.line(
    "cloud_event",
    ROOT,
    ERROR,
    (
        "instance-retirement",
        "instance-stop",
        "system-reboot",
        "instance-reboot",
        "system-maintenance",
        '"eventtype": "preempt',
        '"eventtype":"preempt',
        '"eventtype": "re',
        '"eventtype":"re',
        '"eventtype": "freeze',
        '"eventtype":"freeze',
        '"eventtype": "terminate',
        '"eventtype":"terminate',
        "rebalance recommendation",
        "terminate_on_host",
        "migrate_on_host",
        "vmeventscheduled",
        "upcomingmaintenance",
    ),
    r"\b(?P<event>instance-(?:retirement|stop|reboot)|system-(?:reboot|maintenance))\b"
    r'|"EventType": ?"(?P<azure>Preempt|Reboot|Redeploy|Freeze|Terminate)"'
    r"|rebalance recommendation|(?:TERMINATE|MIGRATE)_ON_HOST_MAINTENANCE|\bVMEventScheduled\b"
    r"|\bUpcomingMaintenance\b",
    (
        'events: {"Code": "system-reboot", "State": "active", "NotBefore": "21 Nov 2026"}',
        '{"EventId": "9c0de", "EventType": "Redeploy", "ResourceType": "VirtualMachine"}',
        "metadata: host maintenance event TERMINATE_ON_HOST_MAINTENANCE",
        "handler: EC2 instance rebalance recommendation received",
    ),
    ('{"eventType": "click"}', "file-system-rebooter"),
    CLOUD,
    category=MAINTENANCE,
    scope=Scope.ANY,
)

SIGNATURES = NODE.signatures()
