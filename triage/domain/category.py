"""What a stop can be put down to, and the Llama 3 table row it counts under.

The rows are those of the interruption table of the Llama 3 405B training run
(419 unexpected interruptions in 54 days).
"""

from enum import StrEnum

from triage.domain.toml_tables import read_toml


class Category(StrEnum):
    """A root cause, as precise as the evidence allows."""

    GPU = "gpu"
    GPU_HBM = "gpu_hbm"
    GPU_SRAM = "gpu_sram"
    GPU_GSP = "gpu_gsp"
    GPU_THERMAL = "gpu_thermal"
    NVLINK = "nvlink"
    SDC = "sdc"
    NIC = "nic"
    NETWORK = "network"
    SSD = "ssd"
    POWER = "power"
    CHASSIS = "chassis"
    IO_BOARD = "io_board"
    CPU = "cpu"
    HOST_MEMORY = "host_memory"
    HOST_MAINTENANCE = "host_maintenance"
    SOFTWARE_USER = "software_user"
    SOFTWARE_FRAMEWORK = "software_framework"
    COLLECTIVE_MISMATCH = "collective_mismatch"
    HOST_STALL = "host_stall"
    GPU_OOM = "gpu_oom"
    HOST_OOM = "host_oom"
    NUMERICAL = "numerical"
    DEPENDENCY = "dependency"
    STORAGE = "storage"
    NCCL_TIMEOUT = "nccl_timeout"
    STRAGGLER = "straggler"
    NONE = "none"


LLAMA3_ROW: dict[Category, str | None] = {
    Category(name): one.get("llama3_row")
    for name, one in read_toml("triage.domain", "category").items()
}

GPU_CHIP = frozenset(
    {
        Category.GPU,
        Category.GPU_HBM,
        Category.GPU_SRAM,
        Category.GPU_GSP,
        Category.GPU_THERMAL,
        Category.SDC,
    }
)
"""What fails on one GPU and on no other."""

GPU_PARTS = GPU_CHIP | {Category.NVLINK}

HARDWARE = GPU_PARTS | {
    Category.NIC,
    Category.NETWORK,
    Category.SSD,
    Category.POWER,
    Category.CHASSIS,
    Category.IO_BOARD,
    Category.CPU,
    Category.HOST_MEMORY,
}
"""The causes that can put a node out of service."""

OF_THE_WHOLE_NODE = frozenset({Category.CHASSIS, Category.POWER})
"""What takes every part and every rank of a node with it."""

ANY_CAUSE = frozenset(Category) - {Category.NONE, Category.STRAGGLER}
"""What can stop a job at all."""

SOFTWARE = frozenset({Category.SOFTWARE_USER, Category.SOFTWARE_FRAMEWORK})

OF_THE_NODE = HARDWARE | {
    Category.HOST_STALL, Category.HOST_OOM, Category.NCCL_TIMEOUT, Category.STRAGGLER,
}  # fmt: skip
"""The causes that a node can have again: the same bug on the same rank says nothing of it."""


class VerdictKind(StrEnum):
    """How the job ended, or did not."""

    HANG = "hang"
    CRASH = "crash"
    DESYNC = "desync"
    STRAGGLER = "straggler"
    HEALTHY = "healthy"
    INCONCLUSIVE = "inconclusive"


class Action(StrEnum):
    """The next step for the person on call."""

    NONE = "none"
    RESTART_JOB = "restart_job"
    FIX_CODE = "fix_code"
    RESET_GPU = "reset_gpu"
    REBOOT_NODE = "reboot_node"
    DRAIN_NODE = "drain_node"
    CHECK_NETWORK = "check_network"
    CHECK_STORAGE = "check_storage"
    INVESTIGATE = "investigate"


class Role(StrEnum):
    """How a suspect stands in the answer.

    ``culprit`` is convicted; ``possible`` is not (a tie, a weak claim);
    ``affected`` is named by the cause but is not its origin.
    """

    CULPRIT = "culprit"
    POSSIBLE = "possible"
    AFFECTED = "affected"
