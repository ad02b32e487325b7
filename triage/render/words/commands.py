"""What to type at a place, for each cause: one table.

A command only looks, unless it stands in `next_step.cordon_commands`. ``{rank}`` is the first rank
of the suspect, a number; nothing else of the input goes into a command but the name of a node, and
only a plain host name.

Nodes to leave out, in the words of launchers: Slurm, DeepSpeed, and pods of Kubernetes.

Every workload of Kubernetes that starts pods holds a pod template somewhere: Job, JobSet,
Volcano's Job, PyTorchJob, MPIJob, RayJob, a Job that Kueue admits. So nodes are left out of all
of them alike: each template's required node affinity gets ``kubernetes.io/hostname NotIn``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from triage.domain.category import Category
from triage.domain.hosts import format_host_list


@dataclass(frozen=True, slots=True)
class LookCommand:
    """A command that changes nothing, and what it shows. ``of_rank`` needs a rank to be known;
    ``anywhere`` is not typed on the suspect's node.
    """

    command: str
    why: str
    of_rank: bool = False
    anywhere: bool = False


@dataclass(frozen=True, slots=True)
class Advice:
    """What a line says that its category does not: the step in a sentence, and what to look at."""

    text: str
    looks: tuple[LookCommand, ...]


FIND_RANK: Final = LookCommand(
    'sudo grep -lz "^RANK={rank}$" /proc/[0-9]*/environ',
    "prints a line on the node where rank {rank} runs, with its process",
    of_rank=True,
)
_RANK_STACKS: Final = LookCommand(
    'sudo grep -lz "^RANK={rank}$" /proc/[0-9]*/environ | cut -d/ -f3'
    " | xargs -rn1 sudo py-spy dump --pid",
    "where rank {rank} and its workers stand, while the job is still there",
    of_rank=True,
)
_STACKS: Final = LookCommand(
    "nvidia-smi --query-compute-apps=pid --format=csv,noheader | xargs -rn1 sudo py-spy dump --pid",
    "where each process stands, while the job is still there",
)
_BLOCKED: Final = LookCommand(
    'ps -eo pid,stat,wchan:30,args | grep " D"', "processes that wait for a disk or file server"
)
_LAST_WORDS: Final = LookCommand("sudo dmesg -T | tail -n 50", "what the kernel said last")
_XID: Final = LookCommand("sudo dmesg -T | grep -i xid", "what the driver says of its GPUs")
_SEL: Final = LookCommand("sudo ipmitool sel list", "what the board controller recorded")
_ECC: Final = LookCommand(
    "nvidia-smi -q -d ECC,ROW_REMAPPER", "errors of memory, and rows to be remapped"
)
_PORTS: Final = LookCommand("ibstat", "state and speed of its ports")
_LINK_WORDS: Final = LookCommand("sudo dmesg -T | grep -i link", "links that went down")
_PACE: Final = LookCommand(
    "nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE", "GPUs that throttle, and why"
)
_LOAD: Final = LookCommand("top -bn1 | head -n 20", "what else runs on the host")
_CORES: Final = LookCommand("coredumpctl list --since yesterday", "processes that crashed there")
_UPS: Final = LookCommand("last -x -n 8", "when it was shut down and came up")
_DISKS: Final = LookCommand("df -hT", "file systems, and how full they are")
_SHARED_MEMORY: Final = LookCommand(
    "df -h /dev/shm", "size of the shared memory of the container or host"
)
_LOCKED_MEMORY: Final = LookCommand(
    "ulimit -l",
    "typed in the job's own environment (batch script, container): it has to say unlimited",
    anywhere=True,
)
_DETAIL: Final = LookCommand(
    "export TORCH_DISTRIBUTED_DEBUG=DETAIL",
    "for the next start: the first operation that differs then names the ranks",
    anywhere=True,
)

LOOKS: Final[Mapping[Category, tuple[LookCommand, ...]]] = {
    Category.GPU: (_XID,),
    Category.GPU_HBM: (_XID, _ECC),
    Category.GPU_SRAM: (_XID, _ECC),
    Category.GPU_GSP: (_XID,),
    Category.GPU_THERMAL: (
        LookCommand(
            "nvidia-smi -q -d TEMPERATURE,PERFORMANCE", "how hot its GPUs are, and who throttles"
        ),
    ),
    Category.NVLINK: (_XID, LookCommand("nvidia-smi nvlink -e", "errors of each NVLink")),
    Category.SDC: (_XID, _ECC),
    Category.NIC: (_PORTS, _LINK_WORDS),
    Category.NETWORK: (_PORTS, _LINK_WORDS),
    Category.SSD: (
        LookCommand("sudo dmesg -T | grep -i nvme", "what the kernel says of its disks"),
    ),
    Category.POWER: (
        _SEL,
        LookCommand("nvidia-smi -q -d PERFORMANCE,POWER", "GPUs whose power is cut"),
    ),
    Category.CHASSIS: (_SEL, _XID),
    Category.IO_BOARD: (
        LookCommand("sudo dmesg -T | grep -i pcie", "errors of the PCIe path"),
        _SEL,
    ),
    Category.CPU: (_SEL, LookCommand("sudo dmesg -T | grep -i mce", "machine checks")),
    Category.HOST_MEMORY: (
        _SEL,
        LookCommand("sudo dmesg -T | grep -i edac", "errors of memory modules"),
    ),
    Category.HOST_MAINTENANCE: (_UPS,),
    Category.SOFTWARE_USER: (_LAST_WORDS,),
    Category.SOFTWARE_FRAMEWORK: (_CORES, _LAST_WORDS),
    Category.COLLECTIVE_MISMATCH: (_RANK_STACKS, _DETAIL),
    Category.HOST_STALL: (_RANK_STACKS, _BLOCKED),
    Category.GPU_OOM: (
        LookCommand(
            "nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv",
            "who holds memory of its GPUs",
        ),
    ),
    Category.HOST_OOM: (
        LookCommand("sudo dmesg -T | grep -i oom", "whom the kernel killed for memory"),
    ),
    Category.NUMERICAL: (_ECC,),
    Category.DEPENDENCY: (LookCommand("nvidia-smi", "versions of driver and CUDA, and all GPUs"),),
    Category.STORAGE: (_DISKS, _BLOCKED),
    Category.NCCL_TIMEOUT: (_LAST_WORDS, _STACKS),
    Category.STRAGGLER: (_PACE, _LOAD),
    Category.NONE: (),
}
"""What to look at on a node that is suspected of a category; none of it changes the node."""

_SHM: Final = Advice(
    "Give the container more shared memory before the next start (--shm-size or --ipc=host; in"
    " Kubernetes an emptyDir of medium Memory at /dev/shm): with the same size it fills up again.",
    (_SHARED_MEMORY,),
)
_LOCKED: Final = Advice(
    "Let the job lock as much memory as it needs before the next start (ulimit -l unlimited; for"
    " containers --ulimit memlock=-1): with the same limit it stops again.",
    (_LOCKED_MEMORY,),
)
_DEVICES_LOST: Final = Advice(
    "Start the job in a new container: the old one lost its devices, as when systemd is reloaded,"
    " and nothing has to be fixed in the job.",
    (
        LookCommand("nvidia-smi -L", "on the node, outside of the container: all GPUs answer"),
        LookCommand(
            "sudo journalctl -t systemd --since today | grep -i reload",
            "when systemd was reloaded",
        ),
    ),
)

ADVICE: Final[Mapping[str, Advice]] = {
    "nccl.shared_memory": _SHM,
    "python.shared_memory": _SHM,
    "storage.shared_memory": _SHM,
    "nccl.verbs_call": _LOCKED,
    "gpu_tool.container_devices": _DEVICES_LOST,
}
"""By the signature of the line that the cause rests on, where a category holds several kinds."""


_HOSTNAME: Final = "kubernetes.io/hostname"
_DEEPEST: Final = 64
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def format_slurm_exclude(nodes: Sequence[str]) -> str:
    """The option of ``sbatch``, ``salloc`` and ``srun``; empty for no nodes.

    >>> slurm_exclude(["gpu003", "gpu004", "gpu009"])
    '--exclude=gpu[003-004,009]'
    """
    return f"--exclude={format_host_list(nodes)}" if nodes else ""


def format_deepspeed_exclude(nodes: Sequence[str]) -> str:
    """The option of ``deepspeed``; empty for no nodes.

    >>> deepspeed_exclude(["n3", "n4"])
    '--exclude=n3@n4'
    """
    return f"--exclude={'@'.join(nodes)}" if nodes else ""


def leave_out(manifest: object, nodes: Sequence[str]) -> int:
    """Keep the pods of a manifest off ``nodes``, in place; how many pod templates it has.

    What the templates ask of nodes besides stays. A manifest is what JSON can hold: one object
    or a list of them. Raises ``ValueError`` for one that is nested too deeply.
    """
    num_templates = 0
    for spec in _iterate_pod_specs(manifest, 0):
        num_templates += 1
        if nodes:
            _keep_off(spec, nodes)
    return num_templates


def _iterate_pod_specs(value: object, depth: int) -> Iterator[dict[str, Any]]:
    if depth > _DEEPEST:
        raise ValueError(f"the manifest is nested more than {_DEEPEST} deep")
    if isinstance(value, dict):
        spec = value.get("spec")
        if isinstance(spec, dict) and isinstance(spec.get("containers"), list):
            yield spec
            return
        for below in value.values():
            yield from _iterate_pod_specs(below, depth + 1)
    elif isinstance(value, list):
        for below in value:
            yield from _iterate_pod_specs(below, depth + 1)


def _keep_off(spec: dict[str, Any], nodes: Sequence[str]) -> None:
    """Terms are alternatives, so each of them gets the requirement."""
    required = _ensure_child(
        _ensure_child(_ensure_child(spec, "affinity"), "nodeAffinity"), _REQUIRED
    )
    terms = required.get("nodeSelectorTerms")
    if not isinstance(terms, list) or not terms:
        terms = required["nodeSelectorTerms"] = [{}]
    for term in terms:
        if isinstance(term, dict):
            asked = term.get("matchExpressions") or []
            ours = {"key": _HOSTNAME, "operator": "NotIn", "values": list(nodes)}
            if ours not in asked:
                term["matchExpressions"] = [*asked, ours]


def _ensure_child(parent: dict[str, Any], key: str) -> dict[str, Any]:
    found = parent.get(key)
    if not isinstance(found, dict):
        found = parent[key] = {}
    return found
