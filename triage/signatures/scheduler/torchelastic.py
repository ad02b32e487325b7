"""torchrun's agents: failure tables, exit codes, status events, and the signals they pass on.

An agent kills its other workers after the first exit, so most entries of a table
are consequences; every agent has a "first observed failure" of its own. Times in
tables are local and count whole seconds.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind, Trait
from triage.signatures.family import NOISE, ROOT, Family
from triage.signatures.scheduler.exit_codes import SIGNAL_NUMBER, of_exit, of_signal
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

AGENT = "PyTorch: elastic/agent/server/api.py"
TABLE = "PyTorch: elastic/multiprocessing/errors/__init__.py"
WORKERS = "PyTorch: elastic/multiprocessing/api.py"

HOST = re.compile(r"^\s*host\s{1,8}: (\S{1,256})")
RANK = re.compile(r"^\s*rank\s{1,8}: (\d{1,7}) \(local_rank: (\d{1,4})\)")
EXIT = re.compile(r"^\s*exitcode\s{1,8}: (-?\d{1,5}) \(pid: (\d{1,10})\)")
ERROR_FILE = re.compile(r"^\s*error_file\s{0,8}: (\S{1,512})")
TRACEBACK = re.compile(r"^\s*traceback\s{0,8}: (\S.{0,200})")
NEXT_ENTRY = re.compile(r"^\s*(?:\[\d{1,7}\]:|-{8,}|Root Cause \()")
END_OF_TABLE = re.compile(r"^\s*={8,}")


def entry(match: re.Match[str], after: Sequence[str]) -> Reading | None:
    """One entry of a table; that of the root cause is the last before the closing rule."""
    fields = {"time": match["time"]}
    code = None
    first = True
    for line in after:
        if NEXT_ENTRY.match(line):
            first = False
            break
        if END_OF_TABLE.match(line):
            break
        if one := HOST.match(line):
            fields["node"] = one[1]
        elif one := RANK.match(line):
            fields["rank"], fields["local_rank"] = one[1], one[2]
        elif one := EXIT.match(line):
            code, fields["pid"] = int(one[1]), one[2]
            fields["exit_code"] = one[1]
        elif one := ERROR_FILE.match(line):
            fields["error_file"] = one[1]
        elif one := TRACEBACK.match(line):
            fields["traceback"] = one[1]
    if len(fields) == 1 and after:
        return None
    fields["first"] = "1" if first else "0"
    reading = Reading() if code is None else of_exit(code)
    if not first and reading.role is ROOT:
        reading = replace(reading, weak=True)
    return replace(reading, fields=fields)


def by_exit(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The exit code of one worker."""
    return of_exit(int(match["exit_code"]))


def by_signal_name(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The signal that ended one worker, by number or by name."""
    groups = match.groupdict()
    number = groups.get("signal")
    name = groups.get("signal_name")
    return of_signal(int(number) if number else SIGNAL_NUMBER.get((name or "").upper(), 0))


def stop_signal(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The agent was told to stop: by a person (2), a lost terminal (1) or a scheduler."""
    number = match["signal"] or match["got"]
    if number in ("1", "2"):
        return Reading(role=ROOT, weak=number == "1")
    return Reading()


def event(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A status event: the best printed source of (global rank, node)."""
    if match["status"].upper() != "FAILED":
        return Reading(role=NOISE, blame=Blame.NOBODY)
    return Reading()


ELASTIC = Family("elastic", Kind.ELASTIC, traits=(Trait.ENDS_JOB,))

ELASTIC.consequence(
    "failure",
    r"^\s*time\s{1,8}: (?P<time>\d{4}-\d\d-\d\d_\d\d:\d\d:\d\d)",
    literals=("time      :",),
    matches=("  time      : 2026-03-04_05:06:07",),
    near_misses=("time      : 12.5 ms",),
    source=TABLE,
    context=9,
    each=True,
    read=entry,
)
ELASTIC.consequence(
    "worker_exit",
    r"failed \(exitcode: (?P<exit_code>-?\d{1,5})\) local_rank: (?P<local_rank>\d{1,4})"
    r" \(pid: (?P<pid>\d{1,10})\)",
    literals=("failed (exitcode:",),
    matches=(
        "failed (exitcode: -9) local_rank: 5 (pid: 2630) of binary: /usr/bin/python",
        "torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: 1) local_rank:"
        " 0 (pid: 77) of binary: python",
        "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -11) local_rank: 3"
        " (pid: 78) of binary: python",
    ),
    near_misses=("failed (exitcode: unknown)",),
    source=WORKERS,
    each=True,
    read=by_exit,
)
ELASTIC.consequence(
    "worker_signal",
    r"Signal (?P<signal>\d{1,2}) \(SIG[A-Z0-9]{2,9}\) received by PID (?P<pid>\d{1,10})",
    literals=(") received by pid",),
    matches=("  traceback : Signal 9 (SIGKILL) received by PID 87174",),
    near_misses=("Signal 9 (SIGKILL) received by the handler",),
    source=TABLE,
    read=by_signal_name,
)
ELASTIC.consequence(
    "event",
    r"torchelastic\.worker\.status\.(?P<status>[A-Z]{1,16})\""
    r"(?:.{0,400}?\"global_rank\": (?P<rank>\d{1,7}))?"
    r"(?:.{0,400}?\"worker_id\": \"(?P<worker_pid>\d{1,10})\")?"
    r"(?:.{0,400}?\"hostname\": \"(?P<node>[^\"]{1,256})\")?",
    literals=("torchelastic.worker.status.",),
    matches=(
        '{"name": "torchelastic.worker.status.FAILED", "source": "WORKER", "timestamp": 0,'
        ' "metadata": {"run_id": "x", "global_rank": 3, "group_rank": 0, "worker_id": "64",'
        ' "role": "default", "hostname": "n4", "state": "FAILED"}}',
        '{"name": "torchelastic.worker.status.SUCCEEDED", "source": "AGENT"}',
    ),
    near_misses=("torchelastic.worker.status.handler registered",),
    source="PyTorch: elastic/events",
    each=True,
    read=event,
)
ELASTIC.consequence(
    "death_signal",
    r"Received (?P<signal>\d{1,2}) death signal"
    r"|Received Signals\.SIG\w{2,8} death signal|Process \d{1,10} got signal: (?P<got>\d{1,2})",
    literals=(" death signal", "got signal: "),
    matches=(
        "Received 15 death signal, shutting down workers",
        "torch.distributed.elastic.multiprocessing.api.SignalException: Process 812 got signal: 15",
        "Received Signals.SIGTERM death signal, shutting down workers",
        "WARNING:torch.distributed.elastic.agent.server.api:Received 2 death signal, shutting down"
        " workers",
    ),
    near_misses=("death signal handler registered",),
    source=AGENT,
    category=Category.HOST_MAINTENANCE,
    blame=Blame.SHARED,
    read=stop_signal,
)
ELASTIC.consequence(
    "closing_signal",
    r"Sending process (?P<worker_pid>\d{1,10}) closing signal (?P<signal_name>SIG[A-Z]{2,8})"
    r"|Unable to shutdown process \d{1,10} via Signals\.SIG[A-Z]{2,8}",
    literals=("closing signal sig", "via signals.sig"),
    matches=(
        "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 4797 closing signal"
        " SIGTERM",
        "Unable to shutdown process 812 via Signals.SIGTERM, forcefully exiting via"
        " Signals.SIGKILL",
    ),
    near_misses=("no closing signal sigma",),
    source=WORKERS,
    blame=Blame.NOBODY,
)
ELASTIC.consequence(
    "group_failed",
    r"ChildFailedError|Worker group FAILED|Root Cause \(first observed failure\)"
    r"|ProcessRaisedException",
    literals=(
        "childfailederror",
        "worker group failed",
        "root cause (first observed failure)",
        "processraisedexception",
    ),
    matches=(
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
        "[default] Worker group FAILED. 2/3 attempts left; will restart worker group",
    ),
    near_misses=("Worker group started",),
    source=TABLE,
    blame=Blame.NOBODY,
)
ELASTIC.consequence(
    "spawn_signal",
    r"process (?P<local_rank>\d{1,4}) terminated with signal (?P<signal_name>SIG[A-Z]{2,8})",
    literals=("terminated with signal sig",),
    matches=(
        "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal"
        " SIGKILL",
    ),
    near_misses=("process 1 terminated with signal handlers intact",),
    source="PyTorch: multiprocessing/spawn.py",
    each=True,
    read=by_signal_name,
)
ELASTIC.consequence(
    "spawn_exit",
    r"process (?P<local_rank>\d{1,4}) terminated with exit code (?P<exit_code>\d{1,3})",
    literals=("terminated with exit code",),
    matches=("ProcessExitedException: process 3 terminated with exit code 1",),
    near_misses=("command terminated with exit code 137",),
    source="PyTorch: multiprocessing/spawn.py",
    each=True,
    read=by_exit,
)
ELASTIC.consequence(
    "deepspeed_exit",
    r"(?:--local_rank=(?P<local_rank>\d{1,4}).{0,4000}?)?exits with return code = "
    r"(?P<exit_code>-?\d{1,5})",
    literals=("exits with return code",),
    matches=(
        "[ERROR] [launch.py:321:sigkill_handler] ['python', '-u', 't.py', '--local_rank=1'] exits"
        " with return code = -11",
    ),
    near_misses=("Process 8 exits successfully.",),
    source="DeepSpeed: launcher/launch.py",
    each=True,
    read=by_exit,
)
ELASTIC.consequence(
    "deepspeed_kill",
    r"Killing subprocess \d",
    literals=("killing subprocess",),
    matches=("[INFO] [launch.py:319:sigkill_handler] Killing subprocess 18678",),
    near_misses=("killing subprocess groups is off",),
    source="DeepSpeed: launcher/launch.py",
    blame=Blame.NOBODY,
)
ELASTIC.consequence(
    "command_signal",
    r"died with <Signals\.(?P<signal_name>SIG[A-Z]{2,8}): (?P<signal>\d{1,2})>"
    r"|returned non-zero exit status \d",
    literals=("died with <signals.", "returned non-zero exit status"),
    matches=(
        "subprocess.CalledProcessError: Command '['python', 't.py']' died with <Signals.SIGKILL:"
        " 9>.",
        "subprocess.CalledProcessError: Command '['ls']' returned non-zero exit status 1.",
    ),
    near_misses=("returned exit status 0",),
    source="Python: subprocess, as accelerate prints it",
    read=by_signal_name,
)


SIGNATURES = ELASTIC.signatures()
