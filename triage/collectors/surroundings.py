"""Surroundings: what the environment of a node says of the job.

The environment is that of a Slurm epilogue, of a training process or of a pod; each
variable is used where it is set, and nothing needs to be.
"""

from __future__ import annotations

import os
import re
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from triage.collectors.options import Misuse, Options

if TYPE_CHECKING:
    from collections.abc import Mapping

_CLUSTER = ("TRIAGE_CLUSTER", "SLURM_CLUSTER_NAME")
# Slurm, by the names of the node's and of the controller's scripts; the launcher of PyTorch.
_ATTEMPT = (
    "TRIAGE_ATTEMPT",
    "SLURM_RESTART_COUNT",
    "SLURM_JOB_RESTART_COUNT",
    "TORCHELASTIC_RESTART_COUNT",
)
_MOUNTS = "/proc/self/mountinfo"
# Not 9p and virtiofs: they are how a virtual machine sees its own node's disk.
NETWORK_FILE_SYSTEMS = frozenset({
    "afs", "beegfs", "ceph", "cifs", "glusterfs", "gpfs", "lustre", "nfs", "nfs4", "orangefs",
    "panfs", "pvfs2", "smb3", "wekafs", "fuse.beegfs", "fuse.ceph", "fuse.ceph-fuse", "fuse.daos",
    "fuse.gcsfuse", "fuse.glusterfs", "fuse.juicefs", "fuse.mount-s3", "fuse.s3fs", "fuse.sshfs",
})  # fmt: skip

# The first name of a host list: "gpu001" of "gpu[001-128,130]", "a1" of "a1,a[3-5]".
_FIRST = re.compile(r"([^\[,\s]+)(?:\[([0-9]+)[^\]]*\]([^\[,\s]*))?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Surroundings(NamedTuple):
    """Where this is, for which job. ``cluster`` and ``attempt`` are empty where nothing says them.

    ``started_at`` is when the job began, in seconds since the epoch, None where nothing
    says it. ``owner`` is the user id of the job where this process is root, else None:
    a root process must not be led by a user's files to another's. ``first`` says
    whether this is the first node of the job, None where the list of nodes is unknown.
    """

    job_id: str
    node: str
    cluster: str
    attempt: str
    homes: tuple[str, ...]
    owner: int | None
    started_at: float | None
    first: bool | None
    environment: Mapping[str, str]


def find_surroundings(options: Options, environment: Mapping[str, str]) -> Surroundings:
    """What ``options`` say, else the environment. Raises :class:`Misuse` without a job id."""
    job_id = options.job_id or environment.get("SLURM_JOB_ID") or ""
    if not options.flush_spool or job_id:
        _check_name("--job-id", job_id)
    node = find_node_name(options.node, environment)
    user = _number(environment.get("SLURM_JOB_UID"))
    nodes = environment.get("SLURM_JOB_NODELIST") or environment.get("SLURM_NODELIST")
    return Surroundings(
        job_id=job_id,
        node=node,
        cluster=find_cluster(options.cluster, environment),
        attempt=_choose_name("--attempt", options.attempt, environment, _ATTEMPT),
        homes=_list_homes(environment, user),
        owner=user if os.geteuid() == 0 else None,
        started_at=_number(environment.get("SLURM_JOB_START_TIME")),
        first=None if not nodes else get_first_node(nodes) == node,
        environment=environment,
    )


def find_node_name(asked: str | None, environment: Mapping[str, str]) -> str:
    """How the scheduler calls this node, else its host name. Raises :class:`Misuse`."""
    node = asked or environment.get("SLURMD_NODENAME") or environment.get("NODE_NAME")
    # NCCL prints the name up to its first dot; so the two meet.
    node = node or socket.gethostname().partition(".")[0]
    _check_name("--node", node)
    return node


def find_cluster(asked: str | None, environment: Mapping[str, str]) -> str:
    """The name of the cluster, empty where nothing says it. Raises :class:`Misuse`."""
    return _choose_name("--cluster", asked, environment, _CLUSTER)


def get_first_node(nodes: str) -> str:
    """The first node of a Slurm host list; the text itself where it is none."""
    match = _FIRST.match(nodes)
    return nodes if match is None else "".join(part or "" for part in match.groups())


def on_network(path: str, mounts: str = _MOUNTS) -> str:
    """The type of the network file system that ``path`` lies on, else an empty text.

    ``mounts`` is a table in the form of ``/proc/self/mountinfo``; without one nothing is
    known to be shared.
    """
    real = os.path.realpath(path)
    longest, kind = -1, ""
    with suppress(OSError), open(mounts, encoding="utf-8", errors="surrogateescape") as table:
        for line in table:
            left, _, right = line.partition(" - ")
            fields, kinds = left.split(" "), right.split(" ")
            if len(fields) < 5:
                continue
            point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields[4])
            below = real == point or real.startswith(point.rstrip("/") + "/")
            # Of two mounts on one place the later one is seen.
            if below and len(point) >= longest:
                longest, kind = len(point), kinds[0]
    return kind if kind in NETWORK_FILE_SYSTEMS else ""


def _check_name(option: str, name: str) -> None:
    if not name and option == "--job-id":
        raise Misuse("the job is unknown: give --job-id, or set SLURM_JOB_ID")
    if not name or _is_unfit(name):
        raise Misuse(f"{option} must have 1 to 256 characters, without control characters")


def _choose_name(
    option: str, value: str | None, environment: Mapping[str, str], names: tuple[str, ...]
) -> str:
    """The option's value, else that of the first of these variables that can be a name."""
    if value is not None:
        _check_name(option, value)
        return value
    values = (environment.get(name, "") for name in names)
    return next((one for one in values if one and not _is_unfit(one)), "")


def _is_unfit(name: str) -> bool:
    return len(name) > 256 or _CONTROL.search(name) is not None


def _list_homes(environment: Mapping[str, str], user: int | None) -> tuple[str, ...]:
    """The home of the job's user, then that of this process."""
    homes = []
    if user is not None:
        import pwd

        with suppress(KeyError):
            homes.append(pwd.getpwuid(user).pw_dir)
    if environment.get("HOME"):
        homes.append(environment["HOME"])
    return tuple(dict.fromkeys(home for home in homes if os.path.isabs(home)))


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 12 else None
