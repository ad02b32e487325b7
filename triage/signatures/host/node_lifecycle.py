"""A node that somebody takes away: reboots, shutdowns, updates, clouds that reclaim an instance.

What an order to reboot or a cloud's notice says is the cause of what ends with it. A node that
comes up again without an order had some other cause: that alone convicts nothing.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind, Trait
from triage.signatures.family import FATAL, WARN, HostFamily
from triage.signatures.scheduler.node_names import HOST, named
from triage.signatures.signature import Reading, Scope

__all__ = ["SIGNATURES"]

LOST = (Category.CHASSIS, Category.POWER, Category.NETWORK)
KUBERNETES = "Kubernetes: kubelet and its events"
SLURM = "Slurm: slurmctld and slurmd logs"
CLOUD = "instance metadata and notices of EC2, Compute Engine, Azure and OCI"
SYSTEMD = "systemd: logind, shutdown; sysvinit: wall messages"


def rebooted(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A controller that saw it late says when it last heard of the node."""
    fields = dict(named(match, "node"))
    last = re.search(r"last response=(\S{10,30})", match.string)
    if last is not None:
        fields["since"] = last[1]
    return Reading(fields=fields)


INSTANCE = re.compile(
    rf"\b[Ii]nstance i-[0-9a-f]{{8,17}} \((?P<node>{HOST})\)"
    rf'|"kubernetes\.io/hostname": ?"(?P<label>{HOST})"'
)


def instance(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A cloud's notice names the instance, and beside it the host name where it knows one."""
    named_as = INSTANCE.search(match.string[:4000])
    if named_as is None:
        return Reading()
    name = named_as["node"] or named_as["label"]
    return Reading(fields={"node": name, "said_of": name})


NODE = HostFamily(
    "node",
    Kind.SCHEDULER,
    traits=(Trait.ENDS_JOB,),
    category=Category.HOST_MAINTENANCE,
    scope=Scope.ANY,
)

NODE.root(
    "rebooted",
    rf"[Nn]ode (?P<node>{HOST}) (?:unexpectedly rebooted|rebooted unexpectedly"
    r"|has been rebooted, boot id: (?P<boot_id>[\w-]{8,40}))",
    literals=("unexpectedly rebooted", "rebooted unexpectedly", "has been rebooted, boot id"),
    matches=(
        "slurmctld: error: Node gpu17 unexpectedly rebooted boot_time=1790000000 last"
        " response=1789999500",
        "Warning  Rebooted  5s  kubelet  Node gpu-17 has been rebooted, boot id: 9c0de000-1",
    ),
    near_misses=("nobody rebooted unexpectedly",),
    source=f"{SLURM}; {KUBERNETES}",
    severity=FATAL,
    also=LOST,
    weak=True,
    each=True,
    read=rebooted,
)
NODE.root(
    "slurmd",
    r"[Ss]lurmd shutdown completing|[Nn]ode reboot request",
    literals=(
        "slurmd shutdown completing",
        "slurmd: node reboot request",
        "node reboot request with",
    ),
    matches=(
        "slurmd: Slurmd shutdown completing",
        "slurmd: Node reboot request with features x being processed",
    ),
    near_misses=("slurmd started on Sat",),
    source=SLURM,
    severity=WARN,
    weak=True,
)
NODE.root(
    "shutdown_ordered",
    r"(?:[Ss]hutdown|[Rr]eboot) scheduled for \S{1,12} \d|blocking further logins",
    literals=(
        "shutdown scheduled for",
        "reboot scheduled for",
        "creating /run/nologin, blocking further logins",
        "scheduled shutdown",
    ),
    matches=(
        "systemd-shutdownd: Shutdown scheduled for Sat 2026-03-07 04:00:00 UTC, use 'shutdown -c'"
        " to cancel.",
        "systemd-logind[911]: Creating /run/nologin, blocking further logins...",
    ),
    near_misses=("the shutdown is scheduled for nobody",),
    source=SYSTEMD,
    weak=True,
)
NODE.root(
    "broadcast",
    r"[Bb]roadcast message from \S{1,80}(?:[^\n]{0,60}?:)?[^\n]{0,200}?"
    r"(?P<why>mainten\w*|reboot|shut ?down|going down|power off|requeue|drain)",
    literals=("broadcast message from",),
    matches=(
        "Broadcast message from root@gpu017 (Sat 2026-03-07 03:55): maintenance begins, jobs are"
        " requeued",
    ),
    near_misses=("Broadcast message from ada@gpu017: lunch?",),
    source=SYSTEMD,
    severity=WARN,
    blame=Blame.SHARED,
)
NODE.root(
    "upgraded",
    r"unattended[- ]upgrades?\S{0,40}[^\n]{0,80}?(?:[Rr]ebooting|will reboot|found /var/run/reboot|"
    r"(?P<found>[Pp]ackages that will be upgraded: (?=[^\n]{0,400}(?:nvidia|linux-image|cuda|mlnx"
    r"|libc6))))|needrestart[^\n]{0,60}?[Rr]estarting (?:services|slurmd|kubelet|containerd"
    r"|docker)",
    literals=(
        "unattended-upgrade",
        "unattended upgrade",
        "needrestart",
        "reboot-required",
        "system restart required",
        "rebootrequired",
    ),
    matches=(
        "unattended-upgrade[8122]: WARNING Found /var/run/reboot-required, rebooting",
        "unattended-upgrades: Packages that will be upgraded: libnvidia-compute-570"
        " linux-image-generic",
    ),
    near_misses=(
        "unattended-upgrades: No packages found that can be upgraded unattended",
        "unattended-upgrade: Starting unattended upgrades script",
    ),
    source="unattended-upgrades; needrestart",
    severity=WARN,
    also=(Category.DEPENDENCY,),
    weak=True,
)
NODE.root(
    "reclaimed",
    r"spot instance (?:\S{1,40} )?(?:interruption (?:notice|warning|signal)|(?:is being |was "
    r"|has been )?"
    r"(?:reclaimed|terminated|interrupted))|[Ss]pot interruption (?:notice|warning)"
    r"|EC2 Spot (?:Instance )?Interruption Warning|(?:interruption|preemption) (?:notice|signal)"
    r" (?:received|detected|for)|instance (?:was|has been|will be|is being) preempted"
    r"|compute\.instances\.preempted|instance/preempted[^\n]{0,40}?\bTRUE\b"
    r'|instance-action[^\n]{0,40}?"action": ?"(?:terminate|stop|hibernate)"'
    r'|"action": ?"(?:terminate|stop)"[^\n]{0,40}?"time": ?"\d{4}-|capacity reclaim',
    literals=(
        "instance-action",
        '"action":"terminate"',
        '"action": "terminate"',
        '"action":"stop"',
        '"action": "stop"',
        "spot instance",
        "ec2 spot",
        "spot interruption",
        "interruption notice",
        "preemption notice",
        "preemption signal",
        "instance was preempted",
        "instance has been preempted",
        "compute.instances.preempted",
        "computeengine.instances.preempted",
        "instance/preempted",
        "scheduledevents",
        "instance will be preempted",
        "capacity reclaim",
    ),
    matches=(
        "Spot instance interruption notice: this instance terminates in two minutes",
        '{"action": "terminate", "time": "2026-03-07T04:02:00Z"}',
        "metadata watcher: /instance/preempted is TRUE",
        'protoPayload.methodName="compute.instances.preempted"',
        '"detail-type":"EC2 Spot Instance Interruption Warning"',
    ),
    near_misses=("polls for interruption notices each 5 s", "/instance/preempted: FALSE"),
    source=CLOUD,
)
NODE.root(
    "cloud_event",
    r"\b(?P<event>instance-(?:retirement|stop|reboot)|system-(?:reboot|maintenance))\b"
    r'|"EventType": ?"(?P<azure>Preempt|Reboot|Redeploy|Freeze|Terminate)"'
    r"|rebalance recommendation|(?:TERMINATE|MIGRATE)_ON_HOST_MAINTENANCE|\bVMEventScheduled\b"
    r"|\bUpcomingMaintenance\b|instance is scheduled for (?:termination|retirement|maintenance"
    r"|reboot)|host maintenance event|upcoming-maintenance[^\n]{0,60}?(?:PENDING|ONGOING|start)"
    r"|scheduled maintenance event|(?:rebooted|stopped|terminated|retired) for scheduled maint"
    r"|\bAWS_EC2_\w{0,60}(?:MAINTENANCE|RETIREMENT|REBOOT|STOP|TERMINATION)\w{0,40}"
    r"|compute\.instances\.(?:hostError|automaticRestart"
    r"|migrateOnHostMaintenance)",
    literals=(
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
        "_on_host_maintenance",
        "vmeventscheduled",
        "upcomingmaintenance",
        "instance is scheduled for",
        "host maintenance event",
        "maintenance-event",
        "upcoming-maintenance",
        "scheduled maintenance event",
        "for scheduled maintenance",
        "aws_ec2_",
        "computeengine host error",
        "compute.instances.hosterror",
        "compute.instances.automaticrestart",
        "compute.instances.migrateonhostmaintenance",
    ),
    matches=(
        'events: {"Code": "system-reboot", "State": "active", "NotBefore": "21 Nov 2026"}',
        '{"EventId": "9c0de", "EventType": "Redeploy", "ResourceType": "VirtualMachine"}',
        "metadata: host maintenance event TERMINATE_ON_HOST_MAINTENANCE",
        "handler: EC2 instance rebalance recommendation received",
        "This instance is scheduled for retirement at 2026-03-07T04:00:00Z",
        "Instance i-0a1b2c3d4e5f60718 (gpu-17) is being rebooted for scheduled maintenance of the"
        " host.",
    ),
    near_misses=(
        '{"eventType": "click"}',
        "file-system-rebooter",
        "instance/maintenance-event NONE",
    ),
    source=CLOUD,
    read=instance,
)
NODE.advice(
    "notice_expected",
    r"(?:[Cc]hecking|[Ww]atching) for (?:spot )?(?:interruption|preemption)"
    r"|[Rr]egistered preemption handler",
    literals=(
        "checking for interruption",
        "watching for preemption",
        "registered preemption handler",
    ),
    matches=("checking for interruption notices every 5 s",),
    near_misses=("nobody is checking for that",),
    source=CLOUD,
    blame=Blame.NOBODY,
)
SIGNATURES = NODE.signatures()
