"""Slurm's own logs and tables: slurmctld, slurmd, prolog and epilog, sacct, scontrol.

A controller speaks of any job and of any node. What it does to a job that ran (time limit,
preemption, a node that somebody drains or reboots) can be the cause; what it does because a
node went silent follows from what silenced that node.
"""

import re
from collections.abc import Sequence
from typing import Final

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind, Trait
from triage.signatures.family import CONSEQUENCE, FATAL, ROOT, WARN, HostFamily
from triage.signatures.host.agent_words import part_of_reason
from triage.signatures.scheduler.node_names import HOST, HOSTS, named
from triage.signatures.signature import Reading, Scope

__all__ = ["SIGNATURES"]

MAINTENANCE: Final = Category.HOST_MAINTENANCE
LOST: Final = (Category.CHASSIS, Category.POWER, Category.NETWORK)
CONTROLLER: Final = "Slurm: slurmctld (job_mgr.c, node_mgr.c, ping_nodes.c, preempt.c)"
DAEMON: Final = "Slurm: slurmd, prolog and epilog"
TABLES: Final = "Slurm: sacct, scontrol show job, squeue"
JOB: Final = r"(?:JobId=|[Jj]ob )(?P<job>\d{1,12}(?:_\d{1,9})?)"


def of_nodes(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Whose node it is about; several nodes at once are a rack, or what somebody chose."""
    fields = named(match, "nodes", "node")
    return Reading(fields=fields, blame=Blame.SHARED if "nodes" in fields else None)


# How an accounting table says that a job ended -> (role, category, weak).
ENDS: Final = {
    "TIMEOUT": (ROOT, MAINTENANCE, False),
    "DEADLINE": (ROOT, MAINTENANCE, False),
    "PREEMPTED": (ROOT, MAINTENANCE, False),
    "REQUEUED": (ROOT, MAINTENANCE, True),
    "NODE_FAIL": (CONSEQUENCE, MAINTENANCE, True),
    "BOOT_FAIL": (CONSEQUENCE, MAINTENANCE, True),
    "OUT_OF_MEMORY": (ROOT, Category.HOST_OOM, True),
    "CANCELLED": (CONSEQUENCE, MAINTENANCE, True),
}


def ended(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The state in which accounting left the job."""
    groups = match.groupdict()
    state = (groups.get("state") or groups.get("record") or "").upper().split(" ")[0]
    role, category, weak = ENDS[state]
    return Reading(role=role, category=category, weak=weak)


SLURM = HostFamily(
    "slurm",
    Kind.SCHEDULER,
    traits=(Trait.ENDS_JOB,),
    source=CONTROLLER,
    category=MAINTENANCE,
    scope=Scope.ANY,
    each=True,
)

SLURM.root(
    "preempted",
    rf"[Pp]reempted {JOB} (?:has been|had to be|was) (?P<how>killed|requeued|checkpointed"
    r"|suspended)",
    literals=("to reclaim resources for", "preempted jobid=", "preempted job "),
    matches=(
        "[2026-03-04T05:06:07.120] preempted JobId=7711 has been requeued to reclaim resources for"
        " JobId=7902",
        "slurmctld: preempted JobId=7711 has been killed to reclaim resources for JobId=7902",
        "slurmctld: preempted JobId=7711 had to be killed",
    ),
    near_misses=("slurmctld: preempt/qos loaded", "slurmctld: JobId=7902 can preempt 2 jobs"),
    blame=Blame.SHARED,
)
SLURM.root(
    "time_limit",
    rf"[Tt]ime limit (?:exhausted|reached) for {JOB}|[Jj]ob \S{{1,40}} has reached its time limit",
    literals=("time limit exhausted for", "time limit reached for", "reached its time limit"),
    matches=(
        "[2026-03-04T05:06:07.120] Time limit exhausted for JobId=7711",
        "slurmctld: job_time_limit: inactivity time limit reached for JobId=7711",
    ),
    near_misses=("slurmctld: time limit of JobId=7711 raised",),
    blame=Blame.SHARED,
)
SLURM.consequence(
    "killed_by",
    rf"REQUEST_KILL_JOB {JOB} uid (?P<uid>\d{{1,10}})",
    literals=("request_kill_job", "job_signal: ", "kill_job_request"),
    matches=(
        "[2026-03-04T05:06:07.120] _slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=7711 uid 2044",
    ),
    near_misses=("slurmctld: job_signal: 10 of running JobId=7711 successful",),
    severity=WARN,
    blame=Blame.SHARED,
    weak=True,
)
SLURM.consequence(
    "failed_node",
    rf"[Kk]illing {JOB} on failed nodes? (?P<nodes>{HOSTS})"
    rf"|due to failure of node (?P<node>{HOST})|[Rr]emoving failed node (?P<removed>{HOST})"
    rf"|missing from batch node (?P<batch>{HOST})|cancelled by (?P<failure>node failure)"
    rf"|set(?:ting)?[_ ]node[_ ](?:(?P<down>{HOST}) )?down\b",
    literals=(
        " on failed node",
        "due to failure of node",
        "removing failed node",
        "cancelled by node failure",
        "missing from batch node",
        "setting node down",
        "set_node_down",
    ),
    matches=(
        "[2026-03-04T05:06:07.120] Killing JobId=7711 on failed node gpu017",
        "[2026-03-04T05:06:07.121] requeue job JobId=7711 due to failure of node gpu017",
        "slurmctld: error: Batch JobId=7711 missing from batch node gpu017 (not found"
        " BatchStartTime after startup), Requeuing job",
        "slurmctld: _job_complete: JobId=7711 cancelled by node failure",
    ),
    near_misses=("slurmctld: killing JobId=7711 on request", "the failed node was replaced"),
    severity=FATAL,
    also=LOST,
    weak=True,
    traits=(Trait.ROOT_WHEN_ALONE,),
    read=lambda match, _after: Reading(
        fields=named(match, "nodes", "node", "removed", "batch", "down")
    ),
)
SLURM.consequence(
    "silent_node",
    rf"\b[Nn]odes? (?P<nodes>{HOSTS})(?: is| are)? not responding(?P<down>, setting DOWN)?",
    literals=("not responding, setting down", "error: nodes ", "error: node "),
    matches=(
        "slurmctld: error: Nodes gpu017 not responding, setting DOWN",
        "slurmctld: error: Nodes gpu[017-019,022] not responding",
        "slurmctld: error: Node gpu017 not responding",
    ),
    near_misses=("peers not responding, setting timeout", "error: node 3 of the graph is late"),
    severity=FATAL,
    also=LOST,
    weak=True,
    traits=(Trait.ROOT_WHEN_ALONE,),
    read=of_nodes,
)
SLURM.consequence(
    "on_node",
    rf"[Kk]illing (?:job|step|JobId=|StepId=) ?(?P<job>\d{{1,12}})(?:\.\S{{1,20}})? on node"
    rf" (?P<node>{HOST})(?:[,:;]? \(?(?:reason|because|due to)[:=]? ?(?P<reason>[^\n]{{1,160}}))?",
    literals=("killing job", "killing step"),
    matches=(
        "slurmctld: Killing job 7711 on node gpu017 reason: node failure",
        "slurmctld: Killing JobId=7711 on node gpu017, reason: planned maintenance",
    ),
    near_misses=("Killing job 7711 (user request)",),
    also=LOST,
    weak=True,
    read=lambda match, _after: Reading(
        role=ROOT if "mainten" in (match["reason"] or "").lower() else None,
        fields=named(match, "node"),
    ),
)
SLURM.root(
    "reboot_ordered",
    rf"reboot_nodes: [Nn]ode (?P<node>{HOST})"
    rf"|[Rr]eboot request queued for nodes? (?P<nodes>{HOSTS})"
    rf"|reboot ASAP (?:for|of|on) (?:nodes? )?(?P<asap>{HOSTS})"
    rf"|power_save: (?:suspending|power down) nodes? (?P<suspended>{HOSTS})",
    literals=(
        " reboot issued",
        "reboot request queued for nodes",
        "reboot asap",
        "reboot_nodes: ",
        "power_save: ",
        "to be rebooted",
    ),
    matches=(
        "[2026-03-04T05:06:07.120] reboot_nodes: Node gpu017 REBOOT issued",
        "slurmctld: reboot request queued for nodes gpu[017-018]",
        "slurmctld: power_save: suspending nodes gpu017",
    ),
    near_misses=("slurmctld: power_save: no nodes to suspend today",),
    read=lambda match, _after: Reading(fields=named(match, "node", "nodes", "asap", "suspended")),
)
SLURM.root(
    "node_drained",
    rf"update_node: nodes? (?P<nodes>{HOSTS}) reason set to: (?P<reason>[^\n]{{1,160}})"
    rf"|(?:update_node|drain_nodes): nodes? (?P<node>{HOSTS}) state set to"
    r" (?:DRAIN|DOWN|FAIL)\w{0,8}"
    rf"|[Ss]etting nodes? (?P<set>{HOSTS}) (?:state )?to (?:DRAIN|DOWN)"
    r"(?: with reason: ?(?P<reason2>[^\n]{1,160}))?"
    rf"|nodename=(?P<updated>{HOSTS})\b[^\n]{{0,80}}?\bstate=(?:drain|down|fail)\w{{0,8}}"
    r"(?:[^\n]{0,80}?\breason=[\"']?(?P<reason3>[^\"'\n]{1,160}))?",
    literals=(
        "reason set to: ",
        "state set to d",
        "state to drain",
        "state=drain",
        "state=down",
        "state to down",
        "scontrol update node",
    ),
    matches=(
        "slurmctld: update_node: node gpu017 reason set to: planned maintenance",
        "slurmctld: update_node: node gpu017 reason set to: NHC: check_hw_ib failed",
        "slurmctld: update_node: node gpu[017,022] state set to DRAINING",
        "slurmctld: drain_nodes: node gpu017 state set to DRAIN",
        "slurmctld: error: Setting node gpu017 state to DRAIN with reason:gres/gpu count reported"
        " lower than configured (7 < 8)",
        '+++ scontrol update nodename=gpu017 state=drain reason="epilog: GPU 3 ECC"',
    ),
    near_misses=(
        "slurmctld: update_node: node gpu017 state set to IDLE",
        "valve state set to OPEN",
    ),
    severity=WARN,
    weak=True,
    read=lambda match, _after: drained(match),
)
SLURM.consequence(
    "kill_task_failed",
    rf"[Kk]ill task failed(?: {JOB})?(?: (?:on )?node[ =](?P<node>{HOST}))?",
    literals=("kill task failed",),
    matches=(
        "slurmctld: error: _slurm_rpc_complete_batch_script: Kill task failed JobId=7711 node"
        " gpu017",
        "gpu017  gpu*  drained*  Kill task failed  root  2026-03-04T05:06:07",
    ),
    near_misses=("kill task failed over",),
    source=DAEMON + "; processes that do not end: they stand in a driver or a file system",
    weak=True,
    read=lambda match, _after: None if "failed over" in match.string else of_nodes(match, ()),
)
SLURM.noise(
    "returned",
    rf"[Nn]odes? (?P<nodes>{HOSTS}) (?:returned to service|now responding|state set to"
    r" (?:IDLE|RESUME|UNDRAIN|ALLOC|MIX|POWER_UP)\w{0,10})"
    r"|completion process took \d{1,6} seconds|Resending TERMINATE_JOB request",
    literals=(
        "returned to service",
        "completion process took",
        "resending terminate_job",
        " now responding",
        "state set to idle",
        "state set to resume",
        "state set to undrain",
        "state set to alloc",
        "state set to mix",
        "state set to power_up",
    ),
    matches=(
        "[2026-03-04T05:16:07.120] node gpu017 returned to service",
        "slurmctld: Node gpu017 now responding",
        "slurmctld: cleanup_completing: JobId=7711 completion process took 121 seconds",
    ),
    near_misses=("the shuttle returned to service", "the service is now responding"),
    severity=WARN,
    category=Category.NONE,
    read=lambda match, _after: Reading(fields={**named(match, "nodes"), "recovered": "yes"}),
    each=False,
)
SLURM.root(
    "lacks_part",
    rf"(?:[Nn]ode[ =](?P<node>{HOST})[^\n]{{0,60}}?)?(?P<what>gres/gpu[^\n]{{0,20}}? count reported"
    rf" lower than configured|has low real_memory size|gres/gpu: count changed for node"
    rf" (?P<changed>{HOST}))",
    literals=(
        "count reported lower than configured",
        "has low real_memory size",
        "gres/gpu: count changed",
    ),
    matches=(
        "slurmctld: error: _slurm_rpc_node_registration node=gpu017: gres/gpu count reported lower"
        " than configured (7 < 8)",
        "slurmctld: error: Node gpu017 has low real_memory size (1031022 < 2063000)",
    ),
    near_misses=("gres/gpu count is as configured",),
    category=Category.GPU,
    also=(Category.IO_BOARD,),
    weak=True,
    read=lambda match, _after: Reading(
        category=Category.HOST_MEMORY if "real_memory" in match["what"] else None,
        also=() if "real_memory" in match["what"] else None,
        fields=named(match, "node", "changed"),
    ),
)
SLURM.root(
    "prolog_failed",
    rf"(?P<which>[Pp]rolog|[Ee]pilog) (?:failed(?! over)|launch failure|error on)"
    rf"(?:(?:[^\n]{{0,24}}? on)? nodes? (?P<nodes>{HOSTS}))?(?P<reason>[^\n]{{0,160}})",
    literals=(
        "prolog failed",
        "epilog failed",
        "prolog launch failure",
        "prolog error on node",
        "epilog error on node",
        "prolog exit status",
    ),
    matches=(
        "slurmd: error: prolog failed: rc:1 output: gpu 3 is missing",
        "slurmctld: error: Prolog failed on node gpu017",
        "slurmctld: error: Epilog error on node gpu017, setting DOWN",
    ),
    near_misses=("the prolog failed over to node 3's copy? no",),
    source=DAEMON,
    category=Category.DEPENDENCY,
    also=(Category.GPU, *LOST),
    weak=True,
    read=lambda match, _after: by_script(match),
)
SLURM.consequence(
    "accounting",
    r"\bJobState=(?P<record>TIMEOUT|DEADLINE|PREEMPTED|NODE_FAIL|BOOT_FAIL|OUT_OF_MEMORY|CANCELLED)"
    r"|^(?:\S{1,40}: )?\s{0,20}(?P<job>\d{1,12})(?:[._+]\S{1,20})?(?:\s{2,40}|\|)[^\n]{0,200}?[ |]"
    r"(?P<state>TIMEOUT|DEADLINE|PREEMPTED|NODE_FAIL|BOOT_FAIL|CANCELLED|OUT_OF_MEMORY)"
    r"(?:\+| by \d{1,10})?[ |]",
    literals=(
        "jobstate=timeout",
        "jobstate=deadline",
        "jobstate=preempted",
        "jobstate=node_fail",
        "jobstate=boot_fail",
        "jobstate=out_of_memory",
        "jobstate=cancelled",
        "|timeout|",
        "|preempted|",
        "|node_fail|",
        "|deadline|",
        "|out_of_memory|",
        "|cancelled",
        "|boot_fail|",
        " node_fail ",
        " preempted ",
        " boot_fail ",
        " out_of_me+ ",
        " out_of_memory ",
        " timeout      0:0",
        " deadline      0:",
        " cancelled+ ",
        " cancelled by ",
    ),
    matches=(
        "   JobState=TIMEOUT Reason=TimeLimit Dependency=(null)",
        "7711         pretrain       gpu      lab       4096    TIMEOUT      0:0 ",
        "7711|pretrain|gpu|lab|4096|PREEMPTED|0:0|gpu[001-512]|2026-03-04T05:06:07",
        "7711.batch|batch|||64|CANCELLED by 2044|0:15|gpu001|2026-03-04T05:06:07",
        "7711         pretrain       gpu      lab       4096  NODE_FAIL      1:0 ",
    ),
    near_misses=("   JobState=RUNNING Reason=None", "7711 tests ran, 3 were preempted "),
    source=TABLES,
    severity=WARN,
    blame=Blame.SHARED,
    weak=True,
    read=ended,
)


def drained(match: re.Match[str]) -> Reading:
    """A drain, by whichever of its forms."""
    groups = match.groupdict()
    fields = named(match, "nodes", "node", "set", "updated")
    reason = groups["reason"] or groups["reason2"] or groups["reason3"] or ""
    blame = Blame.SHARED if "nodes" in fields else None
    part = part_of_reason(reason)
    if part.after_the_job or "drain_nodes:" in match[0]:  # the controller itself, not a person
        return Reading(role=CONSEQUENCE, fields=fields, blame=blame)
    if part.category is None or part.category is MAINTENANCE:
        return Reading(fields={**fields, **({"reason": reason} if reason else {})}, blame=blame)
    return Reading(
        role=CONSEQUENCE,
        category=part.category,
        also=part.also,
        gpu=part.gpu,
        fields={**fields, **part.fields},
        blame=blame,
        traits=frozenset({Trait.ROOT_WHEN_ALONE}),
    )


def by_script(match: re.Match[str]) -> Reading:
    """What a prolog or epilog found wrong; an epilog runs when the job has ended."""
    fields = named(match, "nodes")
    part = part_of_reason(match["reason"])
    after = match["which"].lower() == "epilog"
    return Reading(
        role=CONSEQUENCE if after else None,
        category=part.category,
        also=part.also if part.category is not None else None,
        gpu=part.gpu,
        fields={**fields, **part.fields},
    )


SIGNATURES = SLURM.signatures()
