"""Slurm, Kubernetes, Ray, MPI and the shell: what stands around the job and what ended it.

A scheduler that stops a job is a root only when nothing failed before; the node
it names in ``STEP ... ON n`` is the batch node, not a suspect. Ray lists possible
root causes in every message of a dead actor: a list, not a finding.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind, Trait
from triage.signatures.family import ROOT, Family
from triage.signatures.scheduler.exit_codes import SIGNAL_NUMBER, of_exit, of_signal
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

SLURM = "Slurm: srun and slurmstepd"
KUBERNETES = "Kubernetes: kubelet, kubectl and events"
RAY = "Ray: exceptions and the memory monitor"
MPI = "Open MPI, PRRTE and MPICH: launchers"
SHELL = "bash: job status"


def cancelled(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Why Slurm ended it; without a reason a person or a failed task did."""
    why = (match["why"] or "").upper()
    fields = {"why": why} if why else {}
    if not why or ("FAILURE" in why and "NODE" not in why):
        return Reading(fields=fields)
    return Reading(role=ROOT, weak="NODE" in why, fields=fields)


TASK_ENDS = (
    ("out of memory", 137, False),
    ("killed", 137, True),
    ("segmentation fault", 139, True),
    ("bus error", 135, False),
    ("illegal instruction", 132, True),
)


def task_end(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """How srun saw a task end."""
    why = match["why"].lower()
    for text, code, weak in TASK_ENDS:
        if why.startswith(text):
            return replace(of_exit(code), weak=weak)
    if why.startswith("terminated"):
        return Reading(fields={"exit_code": "-15"})
    code_text = re.search(r"exit code (\d{1,3})", why)
    if code_text is None:
        return Reading()
    return replace(of_exit(int(code_text[1])), fields={"exit_code": code_text[1]})


def by_signal(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The signal that ended a process, by number or by name."""
    groups = match.groupdict()
    number = groups.get("signal")
    name = (groups.get("signal_name") or "").upper()
    return of_signal(int(number) if number else SIGNAL_NUMBER.get(name, 0))


def container_exit(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """137 of a container is its memory limit until something else claims it."""
    return of_exit(int(match["exit_code"]))


SHELL_ENDS = {"segmentation fault": 11, "bus error": 7, "killed": 9, "illegal instruction": 4}

SCHEDULER = Family("scheduler", Kind.SCHEDULER, traits=(Trait.ENDS_JOB,))

SCHEDULER.consequence(
    "slurm_cancelled",
    r"\*\*\* (?P<what>JOB|STEP) (?P<job>\S{1,64}) ON (?P<batch_node>\S{1,256}) CANCELLED"
    r"(?: AT (?P<time>\S{1,40}))?(?: DUE TO (?P<why>[A-Za-z ]{1,40}))?",
    literals=("cancelled at", "cancelled due to", "cancelled ***"),
    matches=(
        "slurmstepd: error: *** STEP 77.0 ON n4 CANCELLED AT 2026-03-04T05:06:07 DUE TO TIME"
        " LIMIT ***",
        "slurmstepd: error: *** JOB 77 ON n4 CANCELLED AT 2026-03-04T05:06:07 DUE TO PREEMPTION"
        " ***",
        "slurmstepd: error: *** STEP 77.0 ON n4 CANCELLED AT 2026-03-04T05:06:07 ***",
        "slurmstepd: error: *** JOB 77 ON n4 CANCELLED DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR"
        " DETAILS ***",
        "slurmstepd: error: *** STEP 77.0 ON n4 CANCELLED ***",
    ),
    near_misses=("the order was cancelled at noon",),
    source=SLURM,
    category=Category.HOST_MAINTENANCE,
    blame=Blame.SHARED,
    read=cancelled,
)
SCHEDULER.root(
    "slurm_oom",
    r"Detected (?P<kills>\d{1,9}) oom[-_]kill event|oom[-_]kill events? in StepId"
    r"|killed by the cgroup out-of-memory handler",
    literals=("oom-kill event", "oom_kill event", "cgroup out-of-memory handler"),
    matches=(
        "slurmstepd-n7: error: Detected 1 oom-kill event(s) in StepId=88.0. Some of your processes"
        " may have been killed by the cgroup out-of-memory handler.",
        "slurmstepd: error: Detected 2 oom_kill events in StepId=88.batch.",
    ),
    near_misses=("no oom-kill events",),
    source=SLURM,
    category=Category.HOST_OOM,
)
SCHEDULER.consequence(
    "slurm_task",
    r"srun: error: (?P<node>[\w.-]{1,128}): tasks? (?P<tasks>[\d,\[\]-]{1,400}): "
    r"(?P<why>Out Of Memory|Killed|Segmentation fault|Aborted|Terminated|Bus error"
    r"|Illegal instruction|User defined signal \d|Exited with exit code \d{1,3})",
    literals=("srun: error: ",),
    matches=(
        "srun: error: n7: task 12: Out Of Memory",
        "srun: error: n7: tasks 8-11,14: Exited with exit code 1",
        "srun: error: n9: task 3: Segmentation fault (core dumped)",
    ),
    near_misses=("srun: error: Unable to create step for job 8: Invalid account",),
    source=SLURM,
    each=True,
    read=task_end,
)
SCHEDULER.root(
    "slurm_node",
    r"error: Node failure on (?P<peer>[\w.-]{1,128})"
    r"|Aborting, io error and missing step on node (?P<node_index>\d{1,6})",
    literals=("node failure on", "aborting, io error and missing step"),
    matches=("srun: error: Node failure on n12",),
    near_misses=("no node failure on n3",),
    source=SLURM,
    category=Category.HOST_MAINTENANCE,
    also=(Category.CHASSIS, Category.POWER, Category.NETWORK),
    blame=Blame.PEER,
    weak=True,
)
SCHEDULER.root(
    "slurm_launch",
    r"Task launch for \S{1,64} failed on node (?P<node>[\w.-]{1,128}): (?P<why>.{1,120})"
    r"|Job credential expired|Prolog hung|Unable to confirm allocation",
    literals=(
        "task launch for",
        "job credential expired",
        "prolog hung",
        "unable to confirm allocation",
    ),
    matches=("srun: error: Task launch for StepId=36.0 failed on node n5: Job credential expired",),
    near_misses=("task launch for the warm-up is next",),
    source=SLURM,
    category=Category.DEPENDENCY,
)
SCHEDULER.consequence(
    "slurm_teardown",
    r"Job step aborted|srun: forcing job termination|srun: terminating|Force Terminated StepId"
    r"|Bypassing SIGTERM",
    literals=(
        "job step aborted",
        "srun: forcing job termination",
        "srun: terminating",
        "force terminated stepid",
        "bypassing sigterm",
    ),
    matches=("srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",),
    near_misses=("the job step was aborted never",),
    source=SLURM,
    blame=Blame.NOBODY,
)
SCHEDULER.root(
    "signalled",
    r"Caught signal SIGUSR[12].{0,80}?(?:preempt|requeue)",
    literals=("caught signal sigusr",),
    matches=("Caught signal SIGUSR2, the job is preempted",),
    near_misses=("Caught signal SIGUSR1, saving a checkpoint",),
    source="training scripts under Slurm's --signal",
    category=Category.HOST_MAINTENANCE,
    blame=Blame.SHARED,
)
SCHEDULER.root(
    "maintenance_begins",
    r"\bmaintenance (?:reservation|window) (?:\S{1,60} )?(?:begins|starts|started|has begun)\b",
    literals=("maintenance reservation", "maintenance window"),
    matches=(
        "launcher: SIGTERM received from the batch system: maintenance reservation begins",
        "The maintenance window starts in 10 minutes, the job will be stopped",
    ),
    near_misses=("no maintenance window is planned", "the maintenance window ended"),
    source="wrappers of batch jobs; Slurm: scontrol create reservation flags=maint",
    category=Category.HOST_MAINTENANCE,
    blame=Blame.SHARED,
)
SCHEDULER.root(
    "container_oom",
    r"\bOOMKilled\b|low on resource: memory",
    literals=("oomkilled", "low on resource: memory"),
    matches=(
        "    Reason:       OOMKilled",
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 20Mi.",
    ),
    near_misses=("OOMKilledCount metric registered",),
    source=KUBERNETES,
    category=Category.HOST_OOM,
)
SCHEDULER.root(
    "container_disk",
    r"low on resource: ephemeral-storage|local storage usage exceeds",
    literals=("low on resource: ephemeral-storage", "ephemeral local storage usage exceeds"),
    matches=("The node was low on resource: ephemeral-storage.",),
    near_misses=("ephemeral-storage request: 10Gi",),
    source=KUBERNETES,
    category=Category.STORAGE,
)
SCHEDULER.root(
    "volume_mount",
    r"MountVolume\.(?:SetUp|MountDevice) failed for volume|Unable to attach or mount volumes",
    literals=(
        "mountvolume.setup failed",
        "mountvolume.mountdevice failed",
        "unable to attach or mount vol",
    ),
    matches=(
        'Warning  FailedMount  2m  kubelet  MountVolume.SetUp failed for volume "pvc-1" : rpc'
        " error: code = DeadlineExceeded desc = context deadline exceeded",
        "Unable to attach or mount volumes: unmounted volumes=[data]: timed out waiting for the"
        " condition",
    ),
    near_misses=('MountVolume.SetUp succeeded for volume "pvc-1"',),
    source=KUBERNETES,
    category=Category.STORAGE,
    also=(Category.DEPENDENCY,),
    weak=True,  # it is tried again, and any pod of the cluster may say so
)
SCHEDULER.consequence(
    "container_exit",
    r"(?:command terminated with exit code|[Cc]ontainer exited with code|[Ee]xit [Cc]ode:?"
    r"|[Ee]xit status|[Ee]xited with code) *"
    r"(?P<exit_code>\d{1,3})",
    literals=(
        "command terminated with exit code",
        "container exited with code",
        "exit code:  ",
        "exit code 137",
        "exit code: 137",
        "exit status 137",
        "exited with code 137",
    ),
    matches=("command terminated with exit code 137", "    Exit Code:    137"),
    near_misses=("exit code:  none",),
    source=KUBERNETES,
    read=container_exit,
)
SCHEDULER.consequence(
    "mpi_noticed",
    r"noticed that process rank (?P<rank>\d{1,7}) with PID (?:(?P<pid>\d{1,10})|\S{1,20}) on node"
    r" (?P<node>\S{1,256})(?: exited on signal (?P<signal>\d{1,2}))?",
    literals=("noticed that process rank",),
    matches=(
        "mpirun noticed that process rank 1 with PID 812 on node n3 exited on signal 9 (Killed).",
        "prterun noticed that process rank 4 with PID 0 on node n3 exited on signal 11"
        " (Segmentation fault).",
    ),
    near_misses=("nobody noticed that process",),
    source=MPI,
    each=True,
    read=by_signal,
)
SCHEDULER.consequence(
    "mpi_lost",
    r"lost communication with a remote daemon|BAD TERMINATION OF ONE OF YOUR APPLICATION"
    r"|MPI_ABORT was invoked on rank (?P<rank>\d{1,7})|KILLED BY SIGNAL: (?P<signal>\d{1,2})",
    literals=(
        "lost communication with a remote daemon",
        "bad termination of one of your application",
        "mpi_abort was invoked on rank",
        "killed by signal:",
    ),
    matches=(
        "ORTE has lost communication with a remote daemon.",
        "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD",
        "=   KILLED BY SIGNAL: 9 (Killed)",
    ),
    near_misses=("killed by signal handlers of the test",),
    source=MPI,
    blame=Blame.NOBODY,
    read=by_signal,
)
SCHEDULER.consequence(
    "caught_signal",
    r"Caught signal (?P<signal>\d{1,2}) \(|Signal: (?:Segmentation fault|Bus error|Aborted|Killed"
    r"|Illegal instruction)\s{1,4}\((?P<number>\d{1,2})\)",
    literals=(
        "caught signal ",
        "signal: segmentation",
        "signal: bus error",
        "signal: aborted",
        "signal: killed",
        "signal: illegal",
    ),
    matches=(
        "[n3:811:0:812] Caught signal 11 (Segmentation fault: address not mapped to object at"
        " address 0x8)",
        "[n3:00811] Signal: Bus error (7)",
    ),
    near_misses=("*** Process received signal ***",),
    source="UCX and Open MPI: signal handlers",
    each=True,
    read=lambda match, _after: of_signal(int(match["signal"] or match["number"])),
)
SCHEDULER.consequence(
    "shell_killed",
    r"(?P<why>Segmentation fault|Bus error|Aborted|Illegal instruction)\s{1,20}\(core dumped\)"
    r"|line \d{1,6}:\s{1,8}\d{1,10} (?P<why2>Killed)\s|^\s{0,8}(?P<why3>Killed)\s{0,8}$",
    literals=("(core dumped)", " killed   ", "killed"),
    matches=(
        "train.sh: line 12: 4411 Segmentation fault      (core dumped) python train.py",
        "run.sh: line 8:  4411 Killed                  python train.py",
    ),
    near_misses=("(core dumped) to /var/crash",),
    source=SHELL,
    read=lambda match, _after: of_signal(
        SHELL_ENDS.get((match["why"] or match["why2"] or match["why3"]).lower(), 6)
    ),
)
SCHEDULER.consequence(
    "told_to_stop",
    r"[Rr]eceived SIG(?:TERM|USR[12])|[Cc]aught SIGTERM"
    r"|[Ss]ignal 15 received|[Rr]eceived (?:termination signal|signal 15)",
    literals=(
        "received sigterm",
        "received sigusr",
        "caught sigterm",
        "signal 15",
        "termination signal",
    ),
    matches=("[rank: 0] Received SIGTERM: 15", "Received SIGUSR1, saving a checkpoint"),
    near_misses=("SIGTERM handler registered",),
    source="Lightning, Megatron-LM: signal handlers",
    category=Category.HOST_MAINTENANCE,
    blame=Blame.SHARED,
)
SCHEDULER.root(
    "operator",
    r"^\s*KeyboardInterrupt\s*$|[Ii]nterrupted by user|[Aa]borted by user"
    r"|Detected KeyboardInterrupt",
    literals=("keyboardinterrupt", "interrupted by user", "aborted by user"),
    matches=("KeyboardInterrupt", "Detected KeyboardInterrupt, attempting graceful shutdown ..."),
    near_misses=("    except KeyboardInterrupt:",),
    source="Python: SIGINT",
    category=Category.HOST_MAINTENANCE,
    blame=Blame.SHARED,
    weak=True,
)
SCHEDULER.root(
    "ray_memory",
    r"node running low on memory|ray\.exceptions\.OutOfMemoryError|killed due to memory pressure"
    r"|(?P<guess>may have exceeded K8s pod memory)",
    literals=(
        "running low on memory",
        "ray.exceptions.outofmemoryerror",
        "killed due to memory pressure",
        "may have exceeded k8s pod memory",
    ),
    matches=(
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
        "(raylet) 3 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers"
        " crashed due to other reasons",
        "Worker exits unexpectedly. The worker may have exceeded K8s pod memory limits.",
    ),
    near_misses=("object store is not running low on memory... fine",),
    source=RAY,
    category=Category.HOST_OOM,
    read=lambda match, _after: Reading(weak=bool(match["guess"])),
)
SCHEDULER.root(
    "ray_worker_gone",
    r"connection error code 2\. End of file",
    literals=("connection error code 2. end of file",),
    matches=(
        "Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a"
        " connection error code 2. End of file. There are some potential root causes. (1) ...",
    ),
    near_misses=(
        "There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer",
    ),
    source=RAY + "; what a worker leaves that ended without a word of its own, as under SIGKILL",
    category=Category.HOST_OOM,
    also=(Category.SOFTWARE_FRAMEWORK, Category.NCCL_TIMEOUT),
    weak=True,
)
SCHEDULER.consequence(
    "ray_actor_died",
    r"ActorDiedError|actor died unexpectedly|WorkerCrashedError|NodeDiedError|OwnerDiedError"
    r"|ActorUnavailableError|RayTaskError\(|RayActorError|worker died or was killed"
    r"|(?:ip|address): ?(?P<peer>[\d.]{7,15}).{0,200}?has been marked dead because the detector",
    literals=(
        "actordiederror",
        "actor died unexpectedly",
        "worker died or was killed",
        "workercrashederror",
        "nodediederror",
        "marked dead because the detector has missed",
        "ownerdiederror",
        "actorunavailableerror",
        "raytaskerror(",
        "rayactorerror",
    ),
    matches=(
        "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
        "The node with node id: 8f and address: 10.0.0.7 and node name: 10.0.0.7 has been marked"
        " dead because the detector has missed too many heartbeats from it.",
    ),
    near_misses=("ActorDied handlers: 2",),
    source=RAY,
    blame=Blame.PEER,
)
SCHEDULER.consequence(
    "engine_worker_gone",
    r"Worker proc (?P<worker>\S{1,40}) died unexpectedly|EngineCore encountered a fatal error"
    r"|EngineDeadError|No available shared memory broadcast block|Scheduler hit an exception"
    r"|[Bb]ackground loop has errored|Watchdog timeout \(self\.",
    literals=(
        "died unexpectedly, shutting down executor",
        "enginecore encountered a fatal error",
        "enginedeaderror",
        "no available shared memory broadcast block",
        "scheduler hit an exception",
        "background loop has errored",
        "watchdog timeout (self.",
    ),
    matches=(
        "Worker proc VllmWorker-1 died unexpectedly, shutting down executor.",
        "No available shared memory broadcast block found in 60 seconds.",
    ),
    near_misses=("EngineCore started",),
    source="vLLM, SGLang: engines",
    blame=Blame.NOBODY,
)
SCHEDULER.noise(
    "clean_exit",
    r"Process \d{1,10} exits successfully",
    literals=("exits successfully",),
    matches=("[INFO] [launch.py:351:main] Process 8123 exits successfully.",),
    near_misses=("the test exits successfully",),
    source="DeepSpeed: launcher/launch.py",
    blame=Blame.NOBODY,
)

SIGNATURES = SCHEDULER.signatures()
