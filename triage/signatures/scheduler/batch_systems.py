"""PBS, LSF, Grid Engine and Flux: what ends a job there, and nodes that they lose."""

import re
from collections.abc import Sequence
from typing import Final

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind, Trait
from triage.signatures.family import CONSEQUENCE, FATAL, WARN, HostFamily, says
from triage.signatures.host.agent_words import part_of_reason
from triage.signatures.scheduler.node_names import HOST, named
from triage.signatures.signature import Reading, Scope

__all__ = ["SIGNATURES"]

MAINTENANCE: Final = Category.HOST_MAINTENANCE
LOST: Final = (Category.CHASSIS, Category.POWER, Category.NETWORK)
PBS: Final = "OpenPBS and TORQUE: pbs_mom, pbs_server"
LSF: Final = "IBM Spectrum LSF: bhist, bjobs -l, termination reasons"
FLUX: Final = "Flux: broker overlay, job-exec, job manager"
SGE: Final = "Grid Engine: qmaster and execd messages"


def lsf_reason(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """LSF's word for who ended the job."""
    reason = says(match, "reason")
    if reason.startswith(("memlimit", "swaplimit")):
        return Reading(category=Category.HOST_OOM, weak=True)
    if reason.startswith(("owner", "unknown", "external", "control_pid", "cwd")):
        return Reading(role=CONSEQUENCE, weak=True)
    return Reading()


def offline(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A node set offline: by a person, or by a check that names a part."""
    fields = {**named(match, "node", "marked", "host")}
    part = part_of_reason(says(match, "why"))
    if part.category is None or part.category is MAINTENANCE:
        return Reading(fields=fields)
    return Reading(
        category=part.category, also=part.also, gpu=part.gpu, fields={**fields, **part.fields}
    )


def lost(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The node that a scheduler lost, by whichever name its line gives."""
    hosts = ("node", "marked", "host", "unheard", "broker", "failed", "shell")
    return Reading(fields=named(match, *hosts))


BATCH = HostFamily(
    "batch", Kind.SCHEDULER, traits=(Trait.ENDS_JOB,), category=MAINTENANCE, scope=Scope.ANY
)

BATCH.root(
    "walltime",
    r"job killed: walltime \d{1,12} exceeded limit|exceeded hard wallclock time"
    r"|exceeded its run ?time limit",
    literals=(
        "job killed: walltime",
        "exceeded hard wallclock time",
        "exceeded its run time limit",
    ),
    matches=(
        "=>> PBS: job killed: walltime 172834 exceeded limit 172800",
        'qmaster|W|job 8812.1 exceeded hard wallclock time - initiate terminate via "KILL"',
    ),
    near_misses=("walltime of job 8812: 172834",),
    source=f"{PBS}; {SGE}",
    blame=Blame.SHARED,
)
BATCH.root(
    "lsf_ended",
    r"\bTERM_(?P<reason>RUNLIMIT|PREEMPT|ADMIN|OWNER|MEMLIMIT|SWAPLIMIT|LOAD|WINDOW|DEADLINE"
    r"|REQUEUE_ADMIN|REQUEUE_OWNER|FORCE_ADMIN|MAINT\w{0,12})\b",
    literals=(
        "term_runlimit",
        "term_preempt",
        "term_admin",
        "term_owner",
        "term_memlimit",
        "term_swap",
        "term_load",
        "term_window",
        "term_deadline",
        "term_requeue_",
        "term_force_admin",
        "term_rmcp",
        "term_maint",
    ),
    matches=(
        "TERM_RUNLIMIT: job killed after reaching LSF run time limit.",
        "Completed <exit>; TERM_PREEMPT: job killed after preemption.",
    ),
    near_misses=("TERM_UNKNOWNX is not set",),
    source=LSF,
    blame=Blame.SHARED,
    read=lsf_reason,
)
BATCH.root(
    "preempted",
    r";Job preempted\b|[Pp]reempted by job \S{1,40}",
    literals=(";job preempted", "preempted by job", "job was preempted by", "requeued by preempt"),
    matches=("03/14/2026 02:41:51;0008;Server@pbs;Job;8812.pbs;Job preempted by 8900.pbs",),
    near_misses=("Job can be preempted by jobs of queue x",),
    source=PBS,
    blame=Blame.SHARED,
)
BATCH.consequence(
    "node_lost",
    rf"node \d{{1,6}} \((?P<node>{HOST})\) requested job terminate"
    rf"|node (?P<marked>{HOST}) marked down: communication closed"
    rf"|[Hh]osts? <?(?P<host>{HOST})>? (?:is|are) unavailable"
    rf"|max[._]unheard timeout for target \"execd\" on host \"(?P<unheard>{HOST})\""
    rf"|(?P<broker>{HOST}) \(rank \d{{1,6}}\) transitioning to LOST"
    rf"|exception type=node-failure\b(?:.{{0,80}}?\bon (?P<failed>{HOST}))?"
    rf"|lost contact with job shell on (?P<shell>{HOST})",
    literals=(
        "requested job terminate",
        "received sister_eof",
        "marked down: communication closed",
        "is requeued: host",
        "host is unavailable",
        "lim is unavailable",
        "node down, requeueing job",
        "got max unheard timeout",
        "transitioning to lost",
        "lost contact with job shell on",
        "type=node-failure",
    ),
    matches=(
        "PBS: job killed: node 3 (gpu017) requested job terminate, 'EOF' (code 1099) - received"
        " SISTER_EOF attempting to communicate with sister MOM's",
        "pbs_server: node gpu017 marked down: communication closed",
        "Job <8812> is requeued: host gpu017 is unavailable",
        "broker.err[0]: gpu17 (rank 14) transitioning to LOST due to EHOSTUNREACH error on overlay",
        'job-manager.info[0]: f28XE: exception type=node-failure severity=0 note="lost contact with'
        ' job shell on gpu17"',
    ),
    near_misses=("the host is unavailable for tests", "gpu17 (rank 14) is online"),
    source=f"{PBS}; {LSF}; {SGE}; {FLUX}",
    severity=FATAL,
    also=LOST,
    weak=True,
    each=True,
    traits=(Trait.ROOT_WHEN_ALONE,),
    read=lost,
)
BATCH.root(
    "offlined",
    rf"node (?P<marked>{HOST}) marked offline(?: by (?P<who>\S{{1,40}}))?(?P<why>[^\n]{{0,120}})"
    rf"|pbsnodes -o (?:-[CN] ?['\"](?P<note>[^'\"\n]{{1,120}})['\"] )?(?P<node>{HOST})"
    rf"|[Hh]ost <?(?P<host>{HOST})>? (?:was|is) closed by",
    literals=(
        "marked offline",
        "pbsnodes -o ",
        "was closed by",
        "is closed by",
        "admin action <hclose>",
    ),
    matches=(
        "pbs_server: node gpu017 marked offline by root: planned maintenance",
        "+ pbsnodes -o gpu017",
        "Host <gpu017> was closed by lsfadmin",
    ),
    near_misses=("the fund was closed by its holders",),
    source=f"{PBS}; {LSF}",
    severity=WARN,
    weak=True,
    each=True,
    read=offline,
)
BATCH.consequence(
    "deleted",
    r"[Jj]ob deleted at request of (?P<who>\S{1,80})",
    literals=("job deleted at request of", "has registered the job", "deletion initiated by"),
    matches=(
        "03/14/2026 02:41:51;0008;Server@pbs;Job;8812.pbs;Job deleted at request of root@head",
    ),
    near_misses=("no job was deleted at request",),
    source=PBS,
    severity=WARN,
    blame=Blame.SHARED,
    weak=True,
)

SIGNATURES = BATCH.signatures()
