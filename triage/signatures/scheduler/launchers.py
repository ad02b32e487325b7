"""Launchers beside torchrun: MPI, Hydra, Lightning, Composer, accelerate, NeMo's monitors.

A launcher sees a process end and ends the others; what it prints is the exit, not
the cause. A signal tells more than a number, and the first process that it names
is the first that it saw, not the first that failed.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind, Trait
from triage.signatures.family import Family
from triage.signatures.scheduler.exit_codes import of_exit, of_signal
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

MPI = "Open MPI, PRRTE, MPICH and Intel MPI: launchers"

HYDRA_EXIT = re.compile(
    r"^=? {0,8}(?:EXIT CODE: (?P<code>\d{1,3})|KILLED BY SIGNAL: (?P<number>\d{1,2}))"
)
HYDRA_PLACE = re.compile(r"PID (?P<pid>\d{1,10}) RUNNING AT (?P<node>[\w.-]{1,128})")
HYDRA_RANK = re.compile(r"RANK (?P<rank>\d{1,7})\b")


def hydra(_match: re.Match[str], after: Sequence[str]) -> Reading:
    """The box that Hydra prints: rank, process, node and how it ended."""
    fields: dict[str, str] = {}
    ended = Reading()
    for line in after:
        for pattern in (HYDRA_PLACE, HYDRA_RANK):
            one = pattern.search(line)
            if one is not None:
                fields.update(one.groupdict())
        one = HYDRA_EXIT.search(line.strip())
        if one is not None:
            ended = of_signal(int(one["number"])) if one["number"] else of_exit(int(one["code"]))
    return Reading(
        role=ended.role,
        category=ended.category,
        also=ended.also,
        blame=ended.blame,
        weak=ended.weak,
        fields=fields,
    )


def exited(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The code or the signal, in whatever words."""
    return of_exit(int(match["exit_code"]))


LAUNCHER = Family("launcher", Kind.ELASTIC, traits=(Trait.ENDS_JOB,))

LAUNCHER.consequence(
    "hydra_box",
    r"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
    literals=("bad termination of one of your application",),
    matches=(
        "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK 3 PID 4411 RUNNING AT"
        " n7\n=   KILLED BY SIGNAL: 9 (Killed)",
        "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 4411 RUNNING AT n7\n="
        "   EXIT CODE: 1",
    ),
    near_misses=("no bad termination was seen",),
    source=MPI,
    context=6,
    blame=Blame.NOBODY,
    each=True,
    read=hydra,
)
LAUNCHER.consequence(
    "hydra_string",
    r"TERMINATED WITH THE EXIT STRING: .{1,60}?\(signal (?P<signal>\d{1,2})\)",
    literals=("terminated with the exit string",),
    matches=("YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)",),
    near_misses=("terminated with the exit string: none",),
    source=MPI,
    read=lambda match, _after: of_signal(int(match["signal"])),
)
LAUNCHER.consequence(
    "mpi_abort",
    r"application called MPI_Abort\(.{0,80}?(?:process (?P<process>\d{1,7}))?$"
    r"|Primary job  terminated normally, but|process returned\s*$|a non-zero exit code\. Per user"
    r"|exited with non-zero status, thus|\bHYD(?:_pmcd|U_sock|T_bsc)\w{0,60}|PMIX ERROR: \w"
    r"|Fatal error in (?:internal_|P?MPI_)\w{1,40}: |unable to reliably start one or more daemons"
    r"|\bA daemon \(pid \d{1,10}\) died unexpectedly with status"
    r"|daemon on node \S{1,128} (?:failed|died|has)|MPI_ERRORS_ARE_FATAL"
    r"|PRTE has lost communication|(?:prterun|mpirun|mpiexec) has exited due to process rank"
    r" (?P<rank>\d{1,7})",
    literals=(
        "application called mpi_abort",
        "primary job  terminated normally",
        "has been aborted.",
        "exited with non-zero status, thus",
        "a non-zero exit code",
        "hyd_pmcd_pmip",
        "hydu_sock_",
        "hydt_bsc",
        "pmix error: ",
        "pmi_abort",
        "fatal error in pmpi_",
        "fatal error in internal_",
        "fatal error in mpi_",
        "unable to reliably start one or more daemons",
        "daemon on node",
        ") died unexpectedly with status",
        "mpi_errors_are_fatal",
        "prte has lost communication",
        "prterun has exited due to",
        "mpiexec has exited due to",
        "mpirun has exited due to",
    ),
    matches=(
        "application called MPI_Abort(MPI_COMM_WORLD, 1) - process 3",
        "Primary job  terminated normally, but 1 process returned",
        "mpirun detected that one or more processes exited with non-zero status, thus causing the"
        " job to be terminated. The first process to do so was:",
        "[n0:04411] PMIX ERROR: UNREACHABLE in file ptl_tcp.c at line 423",
        "Fatal error in PMPI_Allreduce: Other MPI error, error stack:",
        "[proxy:0:7@n7] HYD_pmcd_pmip_control_cmd_cb (pm/pmiserv/pmip_cb.c:480): assert (!closed)"
        " failed",
        "mpirun has exited due to process rank 3 with PID 0 on node n7 calling abort.",
        "ORTE was unable to reliably start one or more daemons.",
        "A daemon (pid 123) died unexpectedly with status 255 while attempting to launch",
    ),
    near_misses=("the daemon on node n3 is up", "returned a non-zero exit code of its own"),
    source=MPI,
    blame=Blame.NOBODY,
)
LAUNCHER.consequence(
    "child_ended",
    r"(?:\[rank: (?P<rank>\d{1,7})\] )?Child process with PID (?P<pid>\d{1,10}) terminated with"
    r" code"
    r" (?P<exit_code>-?\d{1,3})\b",
    literals=("child process with pid",),
    matches=(
        "[rank: 3] Child process with PID 4411 terminated with code -9. Forcefully terminating all"
        " other processes to avoid zombies",
        "[rank: 3] Child process with PID 4411 terminated with code 1. Forcefully terminating all"
        " other processes to avoid zombies",
    ),
    near_misses=("Child process with PID 4411 started",),
    source="Lightning: fabric/strategies/launchers/subprocess_script.py",
    each=True,
    read=exited,
)
LAUNCHER.consequence(
    "rank_ended",
    r"(?:\b(?:global )?rank (?P<rank>\d{1,7})\b.{0,40}?|\b(?:worker|process|task|trainer|child|job|"
    r"subprocess|container|script|program|command|pod)\b.{0,60}?|^.{0,24})"
    r"(?:crashed|exited|died|finished|failed|ended|terminated) with "
    r"(?:(?:exit|return|error) )?(?:code|status):? ?(?P<exit_code>-?\d{1,3})\b",
    literals=(
        "crashed with exit code",
        "exited with code -",
        "exited with code 1",
        "exited with exit code",
        "exited with status",
        "exited with return code",
        "died with exit code",
        "finished with exit code",
        "failed with exit code",
        "ended with exit code",
        "exited with error code",
        "exit code: -",
        "exitcode: -",
        "returncode=-",
    ),
    matches=(
        "ERROR:composer.cli.launcher:Rank 3 crashed with exit code -9.",
        "Global rank 0 (PID 4411) exited with code -15",
        "process 77 exited with code 139",
        "worker 4 died with exit code 1",
        "exited with code 134",
    ),
    near_misses=("Process 8 exited with code 0", "the run exited with status of its children"),
    source="Composer: cli/launcher.py; launchers in their own words",
    each=True,
    # srun's own words are read by the scheduler's entries.
    read=lambda match, after: (
        None if int(match["exit_code"]) == 0 or "srun: " in match.string else exited(match, after)
    ),
)
LAUNCHER.consequence(
    "shell_ended",
    r"line \d{1,6}:\s{1,8}(?P<pid>\d{1,10}) (?P<why>Terminated|Aborted|Hangup|Quit"
    r"|Floating point exception|Illegal instruction)\s",
    literals=(" terminated ", " aborted ", " hangup ", "floating point exception", " quit "),
    matches=(
        "./run.sh: line 33:  4411 Terminated              python train.py",
        "./run.sh: line 33:  4411 Floating point exception python train.py",
    ),
    near_misses=("the process was terminated on line 33: 4411 times",),
    source="bash: job status",
    blame=Blame.NOBODY,
    read=lambda match, _after: of_signal(8 if match["why"].lower().startswith("float") else 15),
)
LAUNCHER.consequence(
    "waits_for_end",
    r"seconds for all training processes to terminate|[Ww]aiting .{0,40}for all processes to"
    r" terminate|(?:[Kk]illing|[Tt]erminating) (?:all|the remaining) "
    r"(?:other |training |worker )?processes"
    r"|Terminating process \d{1,10} via signal SIG[A-Z]{2,8}",
    literals=(
        "seconds for all training processes to terminate",
        "for all processes to terminate",
        "killing all processes",
        "terminating all processes",
        "terminating the remaining",
        "killing the remaining",
        "terminating process ",
    ),
    matches=(
        "Waiting up to 30 seconds for all training processes to terminate. Press Ctrl-C to exit"
        " immediately.",
        "W0408 torch/multiprocessing/spawn.py:165] Terminating process 96 via signal SIGTERM",
    ),
    near_misses=("terminating all processes is the agent's task",),
    source="Composer, PyTorch: launchers",
    blame=Blame.NOBODY,
    read=lambda match, _after: None if " is the " in match.string else Reading(),
)
LAUNCHER.consequence(
    "rank_monitor",
    r"Did not get (?:subsequent|initial) heartbeat|[Ss]ection timeout elapsed"
    r"|(?:missed|no) heartbeat (?:received )?(?:from|for) rank (?P<silent>\d{1,7})"
    r"|\bno heartbeat received\b|\bhang detected\b"
    r"|\bno progress (?:was made )?for (?:more than )?(?P<waited_s>\d{1,9}) ?s",
    literals=(
        "did not get subsequent heartbeat",
        "did not get initial heartbeat",
        "no subsequent heartbeat",
        "section timeout elapsed",
        "missed heartbeat from rank",
        "heartbeat from rank",
        "no heartbeat received",
        "no progress for",
        "hang detected",
        "job hang",
    ),
    matches=(
        "[WARNING] [RankMonitorServer:34] Did not get subsequent heartbeat. Waited 171.92 seconds.",
        "[WARNING] [RankMonitorServer:34] Did not get initial heartbeat. Waited 600.00 seconds.",
        "watchdog: no heartbeat from rank 12 for 300 s",
        "hang detected: no progress for 900 s",
    ),
    near_misses=(
        "no hang detected for 600 s",
        "heartbeat from rank 3 received",
        "hang detection: no progress for the eye",
    ),
    source="NVIDIA resiliency extension, NeMo, trainers' own watchdogs",
    category=Category.NCCL_TIMEOUT,
    also=(Category.HOST_STALL,),
    blame=Blame.ABSENT,
    traits=(Trait.TIMEOUT,),
    read=lambda match, _after: (
        None
        if re.search(r"\bno (?:job )?hang", match.string, re.IGNORECASE)
        else Reading(peer=None if match["silent"] is None else f"rank {match['silent']}")
    ),
)
LAUNCHER.root(
    "told_to_requeue",
    r"^(?:\S{1,120}\.)?SIGTERMException\b|[Hh]andling auto-requeue signal|[Rr]equeue?ing job"
    r"|SIGTERM caught at \d|[Pp]reemption notice received|[Rr]eached preemption sync"
    r"|[Rr]eceived preemption signal|[Ee]xiting due to preemption|[Pp]reemption signal received"
    r"|\b(?:received|got|caught|detected) (?:a |an |the )?(?:\w{1,16} ){0,2}(?:preemption"
    r"|interruption|"
    r"termination|eviction) (?:notice|notification|warning|event)"
    r"|\b(?:preemption|interruption|termination|eviction) (?:notice|warning) (?:was )?(?:received"
    r"|found)"
    r"|[Rr]eached the preemption sync|\bspot instance\b.{0,60}?\b(?:will be|is being|has been|was) "
    r"(?:terminated|interrupted|reclaimed|stopped|preempted)|\bspot interruption (?:notice"
    r"|received)"
    r"|SIGTERM (?:received|caught).{0,60}?expected death time",
    literals=(
        "sigtermexception",
        "auto-requeue signal",
        "requeuing job",
        "requeueing job",
        "sigterm caught at",
        "preemption notice received",
        "reached preemption sync",
        "received preemption signal",
        "exiting due to preemption",
        "preemption signal received",
        "received sigterm due to preempt",
        "preemption notice",
        "preemption warning",
        "preemption sync point",
        "interruption notice",
        "interruption warning",
        "termination notice",
        "eviction notice",
        "spot interruption",
        "spot instance",
        "rebalance recommendation",
        "expected death time",
    ),
    matches=(
        "lightning.pytorch.utilities.exceptions.SIGTERMException",
        "Handling auto-requeue signal: 10",
        "preemption_notifier.cc:80] SIGTERM caught at 2026-01-02T03:04:05",
        "Received preemption signal, saving before the exit",
        "INFO: Received preemption notice; saving checkpoint and exiting",
        "Spot instance termination notice received: i-0abc will be terminated at 03:04:05Z",
        "PreemptionNotifier: SIGTERM received, expected death time 2026-01-02",
    ),
    near_misses=(
        "polls for a spot interruption every 5 s",
        "no preemption notice",
        "requeue is on, SIGTERM handler registered",
        "preemption sync manager initialized",
    ),
    source="Lightning, JAX, trainers: told to stop by a scheduler",
    category=Category.HOST_MAINTENANCE,
    blame=Blame.SHARED,
    weak=True,
)
LAUNCHER.consequence(
    "collective_left_over",
    r"HorovodInternalError|Horovod has been shut down|tensors were submitted to be reduced",
    literals=(
        "horovodinternalerror",
        "horovod has been shut down",
        "tensors were submitted to be reduced",
    ),
    matches=(
        "horovod.common.exceptions.HorovodInternalError: Horovod has been shut down. This was"
        " caused by an exception on one of the ranks",
        "horovod/common/stall_inspector.cc:107] One or more tensors were submitted to be reduced,"
        " gathered or broadcasted by subset of ranks and are waiting for remainder of ranks",
    ),
    near_misses=("horovod has been started",),
    source="Horovod",
    category=Category.NCCL_TIMEOUT,
    blame=Blame.ABSENT,
)

SIGNATURES = LAUNCHER.signatures()
