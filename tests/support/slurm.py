"""A real Slurm cluster on this machine: munged, slurmdbd, slurmctld and several slurmd.

Everything is in one folder, on free ports, with a key of its own; all processes are ended by
their ids. Where Slurm is not installed its tests are skipped by name; without MariaDB, those of
accounting.
"""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

PROGRAMS: Final = ("munged", "slurmctld", "slurmd", "scontrol", "sinfo", "sbatch", "scancel")
ACCOUNTING: Final = ("slurmdbd", "sacctmgr", "sacct", "mysql")
PATH: Final = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))
MYSQL: Final = ("mysql", "--user=root", "--connect-timeout=5", "--batch", "--execute")


def missing_programs(programs: Sequence[str] = PROGRAMS) -> list[str]:
    """Those of the programs that this machine does not have."""
    return [name for name in programs if shutil.which(name, path=PATH) is None]


@dataclass
class SlurmCluster:
    """A cluster that runs: its folder, its nodes, and the environment of its clients."""

    folder: Path
    name: str
    nodes: tuple[str, ...]
    accounting: bool
    env: dict[str, str] = field(default_factory=dict)
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def run(self, *argv: str, timeout_s: float = 30.0) -> str:
        """What a client prints. Raises ``CalledProcessError`` with what it said."""
        done = subprocess.run(
            argv, env=self.env, capture_output=True, text=True, timeout=timeout_s, check=False
        )
        if done.returncode:
            error = subprocess.CalledProcessError(done.returncode, argv, done.stdout, done.stderr)
            error.add_note(done.stderr)
            raise error
        return done.stdout

    def state(self, node: str) -> str:
        """The state of a node with its flags, as ``IDLE+DRAIN``."""
        return self.run(
            "sinfo", "--noheader", "--exact", "-N", "-n", node, "-O", "StateComplete:99"
        ).strip()

    def record(self, node: str) -> str:
        """The node on one line."""
        return self.run("scontrol", "-o", "show", "node", node)

    def wait(self, what: str, ready: Callable[[], bool], within_s: float = 120.0) -> float:
        """Seconds until it is so; fails with the logs after ``within_s``.

        Slurm looks at pending jobs at events, and if it has just looked, half a minute later.
        """
        begun = time.monotonic()
        while not ready():
            if time.monotonic() - begun > within_s:
                raise AssertionError(f"not within {within_s} s: {what}\n{self.logs()}")
            time.sleep(0.05)
        return time.monotonic() - begun

    def logs(self, last: int = 1500) -> str:
        """The ends of all logs."""
        return "\n".join(
            f"--- {log.name}\n{log.read_text(errors='replace')[-last:]}"
            for log in sorted(self.folder.glob("*.log"))
        )

    def start(self, name: str, *argv: str) -> None:
        """Start a daemon in the foreground; its output goes to ``NAME.out.log``."""
        program = shutil.which(argv[0], path=PATH) or argv[0]
        with (self.folder / f"{name}.out.log").open("ab") as log:
            self.daemons[name] = subprocess.Popen(
                [program, *argv[1:]], env=self.env, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, start_new_session=True,
            )  # fmt: skip

    def stop(self, name: str, within_s: float = 15.0) -> None:
        """End a daemon, and wait for it."""
        process = self.daemons.pop(name)
        process.terminate()
        try:
            process.wait(within_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    @property
    def user(self) -> str:
        """The user that everything runs as, SlurmUser included."""
        return pwd.getpwuid(os.getuid()).pw_name

    def answers(self) -> bool:
        """Whether the controller answers."""
        return answers(self, "scontrol", "show", "node", self.nodes[0])

    def submit(self, script: str, *options: str) -> str:
        """Submit a job whose script is these lines of sh; its id."""
        path = self.folder / f"job-{secrets.token_hex(4)}.sh"
        path.write_text(f"#!/bin/sh\n{script}\n")
        where = ("--parsable", f"--chdir={self.folder}", *options)
        return self.run("sbatch", *where, str(path)).strip().partition(";")[0]

    def job_state(self, job: str) -> str:
        """The state of a job, as ``RUNNING``."""
        shown = self.run("scontrol", "-o", "show", "job", job)
        return shown.partition("JobState=")[2].partition(" ")[0]

    @contextmanager
    def frozen(self, name: str) -> Iterator[None]:
        """Inside, a daemon is stopped by a signal: it accepts and does not answer."""
        self.daemons[name].send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.daemons[name].send_signal(signal.SIGCONT)

    def make_idle(self) -> None:
        """End all jobs, and take all nodes back into service."""
        self.run("scancel", "--user", self.user)
        for node in self.nodes:
            state = self.state(node)
            for flag, change in (("drain", "undrain"), ("down", "resume")):
                if flag in state:
                    argv = ("scontrol", "update", f"nodename={node}", f"state={change}")
                    self.wait(f"{node} takes {change}", lambda argv=argv: answers(self, *argv))
        self.wait("all nodes are idle", lambda: all_idle(self), 60)

    def start_controller(self) -> None:
        """Start slurmctld, with the state that it left."""
        self.start("slurmctld", "slurmctld", "-D", "-f", str(self.folder / "slurm.conf"))

    def start_node(self, node: str) -> None:
        """Start the slurmd of a node."""
        self.start(node, "slurmd", "-D", "-N", node, "-f", str(self.folder / "slurm.conf"))


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def has_mariadb() -> bool:
    if missing_programs(ACCOUNTING):
        return False
    try:
        subprocess.run([*MYSQL, "select 1"], capture_output=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return False
    return True


@contextmanager
def slurm_cluster(
    folder: Path, num_nodes: int = 4, settings: Mapping[str, str] | None = None
) -> Iterator[SlurmCluster]:
    """A cluster of ``num_nodes`` idle nodes, ``gpu001`` and on, that is ended afterwards.

    ``folder`` is empty and has a short path: sockets are in it. ``settings`` are further lines of
    ``slurm.conf``.
    """
    if missing := missing_programs():
        pytest.skip(f"Slurm is not there: {', '.join(missing)}")
    nodes = tuple(f"gpu{number:03}" for number in range(1, num_nodes + 1))
    cluster = SlurmCluster(folder, f"triage{secrets.token_hex(4)}", nodes, has_mariadb())
    cluster.env = {
        "PATH": PATH,
        "LC_ALL": "C",
        "TZ": "UTC",
        "HOME": str(folder),
        "SLURM_CONF": str(folder / "slurm.conf"),
    }
    ports = free_ports(2 + num_nodes)
    write_config(cluster, ports, settings or {})
    try:
        start(cluster)
        yield cluster
    finally:
        for name in reversed(list(cluster.daemons)):
            cluster.stop(name)
        if cluster.accounting:
            drop = [*MYSQL, f"drop database if exists {cluster.name}"]
            subprocess.run(drop, capture_output=True, timeout=60, check=False)


def start(cluster: SlurmCluster) -> None:
    folder = cluster.folder
    cluster.start(
        "munged", "munged", "--foreground", "--force", f"--socket={folder}/munge.sock",
        f"--key-file={folder}/munge.key", f"--pid-file={folder}/munge.pid",
        f"--log-file={folder}/munged.log", f"--seed-file={folder}/munge.seed",
    )  # fmt: skip
    cluster.wait("munged listens", (folder / "munge.sock").exists)
    if cluster.accounting:
        # It finds its file beside that of SLURM_CONF.
        cluster.start("slurmdbd", "slurmdbd", "-D")
        cluster.wait(
            "slurmdbd answers", lambda: answers(cluster, "sacctmgr", "-n", "show", "cluster"), 15
        )
        cluster.run("sacctmgr", "-i", "add", "cluster", cluster.name)
    cluster.start_controller()
    for node in cluster.nodes:
        cluster.start_node(node)
    cluster.wait("all nodes are idle", lambda: all_idle(cluster), 60)


def answers(cluster: SlurmCluster, *argv: str) -> bool:
    try:
        cluster.run(*argv)
    except subprocess.CalledProcessError:
        return False
    return True


def all_idle(cluster: SlurmCluster) -> bool:
    try:
        listed = cluster.run("sinfo", "-h", "-N", "-o", "%N %T").split("\n")
    except subprocess.CalledProcessError:
        return False
    return {line for line in listed if line} == {f"{node} idle" for node in cluster.nodes}


def write_config(cluster: SlurmCluster, ports: Sequence[int], settings: Mapping[str, str]) -> None:
    folder, user = cluster.folder, cluster.user
    # Clients of other users read slurm.conf.
    folder.chmod(0o755)
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    (folder / "state").mkdir()
    lines = {
        "ClusterName": cluster.name,
        "SlurmctldHost": "localhost(127.0.0.1)",
        "SlurmctldPort": str(ports[0]),
        "SlurmUser": user,
        "SlurmdUser": user,
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={folder}/munge.sock",
        "CredType": "cred/munge",
        "StateSaveLocation": f"{folder}/state",
        "SlurmdSpoolDir": f"{folder}/spool.%n",
        "SlurmctldPidFile": f"{folder}/slurmctld.pid",
        "SlurmdPidFile": f"{folder}/slurmd.%n.pid",
        "SlurmctldLogFile": f"{folder}/slurmctld.log",
        "SlurmdLogFile": f"{folder}/slurmd.%n.log",
        "LogTimeFormat": "iso8601_ms",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "SwitchType": "switch/none",
        "MpiDefault": "none",
        "JobAcctGatherType": "jobacct_gather/none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core",
        "SlurmdParameters": "config_overrides",
        "GresTypes": "gpu",
        "SchedulerParameters": "batch_sched_delay=0,sched_min_interval=0",
        "SlurmdTimeout": "300",
        "ReturnToService": "1",
        "InactiveLimit": "0",
        "KillWait": "5",
        "MessageTimeout": "10",
    }
    if cluster.accounting:
        lines |= {
            "AccountingStorageType": "accounting_storage/slurmdbd",
            "AccountingStorageHost": "127.0.0.1",
            "AccountingStoragePort": str(ports[1]),
            # What reaches slurmdbd takes its socket of munge from here, not from AuthInfo.
            "AccountingStoragePass": f"{folder}/munge.sock",
            "AccountingStorageTRES": "gres/gpu",
        }
    text = [f"{name}={value}" for name, value in (lines | dict(settings)).items()]
    text += [
        f"NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs=8"
        " RealMemory=1000 Gres=gpu:h100:8"
        for node, port in zip(cluster.nodes, ports[2:], strict=True)
    ]
    text.append("PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP")
    (folder / "slurm.conf").write_text("\n".join(text) + "\n")
    names = f"gpu[001-{len(cluster.nodes):03}]"
    # Slurm counts devices that are there; it opens none without cgroups.
    for number in range(8):
        (folder / f"nvidia{number}").touch()
    (folder / "gres.conf").write_text(
        f"NodeName={names} Name=gpu Type=h100 File={folder}/nvidia[0-7]\n"
    )
    (folder / "cgroup.conf").write_text("CgroupAutomount=no\n")
    if cluster.accounting:
        dbd = folder / "slurmdbd.conf"
        dbd.touch(mode=0o600)
        dbd.write_text(
            f"AuthType=auth/munge\nAuthInfo=socket={folder}/munge.sock\nDbdHost=localhost\n"
            f"DbdAddr=127.0.0.1\nDbdPort={ports[1]}\nSlurmUser={user}\nPidFile={folder}/slurmdbd.pid\n"
            f"LogFile={folder}/slurmdbd.log\nStorageType=accounting_storage/mysql\n"
            f"StorageHost=localhost\nStorageUser=root\nStorageLoc={cluster.name}\n"
        )
