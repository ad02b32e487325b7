"""What the machines of a job run: system, kernel, driver, framework, scheduler, who watches them.

Versions are those that went together in the field: a fleet's kernel belongs to its system, and
its driver was released for it.
"""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fleet:
    """A system with the kernels and drivers that run on it."""

    system: str
    kernels: tuple[str, ...]
    drivers: tuple[str, ...]
    compiler: str


@dataclass(frozen=True, slots=True)
class Software:
    """One job's choice; ``driver`` is the whole version."""

    system: str
    kernel: str
    compiler: str
    driver: str
    open_module: bool
    framework: str
    scheduler: str
    runtime: str
    agent: str
    controller: str
    storage: str
    firmware: str

    @property
    def branch(self) -> int:
        """The driver's release branch."""
        return int(self.driver.partition(".")[0])


FLEETS = (
    Fleet("Ubuntu 20.04.6 LTS",
          ("5.4.0-144-generic", "5.4.0-182-generic", "5.15.0-1042-nvidia", "5.4.0-1103-azure"),
          ("470.82.01", "470.182.03", "470.256.02", "510.108.03", "515.105.01", "525.147.05"),
          "gcc (Ubuntu 9.4.0-1ubuntu1~20.04.1) 9.4.0, GNU ld (GNU Binutils for Ubuntu) 2.34"),
    Fleet("Ubuntu 22.04.5 LTS",
          ("5.15.0-1053-nvidia", "5.15.0-116-generic", "5.15.0-1064-azure", "6.5.0-1024-aws",
           "6.5.0-45-generic", "6.8.0-1021-aws", "6.8.0-60-generic", "5.15.0-1065-gcp"),
          ("525.125.06", "535.104.05", "535.161.08", "535.183.06", "535.216.01", "550.54.15",
           "550.90.07", "550.127.08", "550.144.03", "550.163.01", "560.35.05", "565.57.01",
           "570.86.15", "570.124.06", "570.133.20", "570.172.08"),
          "gcc-11 (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0, GNU ld (GNU Binutils for Ubuntu) 2.38"),
    Fleet("Ubuntu 24.04.2 LTS",
          ("6.8.0-79-generic", "6.8.0-1033-nvidia-64k", "6.11.0-26-generic", "6.8.0-1027-gcp",
           "6.11.0-1011-nvidia-64k", "6.12.0-1003-oem"),
          ("565.57.01", "570.133.20", "570.172.08", "575.57.08", "580.65.06", "580.82.07",
           "580.95.05", "590.44.01"),
          "x86_64-linux-gnu-gcc-13 (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0, GNU ld (GNU Binutils "
          "for Ubuntu) 2.42"),
    Fleet("Red Hat Enterprise Linux 8.10 (Ootpa)",
          ("4.18.0-553.el8_10.x86_64", "4.18.0-477.27.1.el8_8.x86_64"),
          ("470.223.02", "515.86.01", "525.116.04", "535.154.05", "550.90.07"),
          "gcc version 8.5.0 20210514 (Red Hat 8.5.0-22) (GCC)"),
    Fleet("Rocky Linux 9.4 (Blue Onyx)",
          ("5.14.0-427.13.1.el9_4.x86_64", "5.14.0-503.14.1.el9_5.x86_64",
           "5.14.0-362.24.1.el9_3.x86_64"),
          ("535.161.08", "550.54.15", "555.42.06", "560.35.03", "570.133.20", "580.65.06"),
          "gcc (GCC) 11.4.1 20231218 (Red Hat 11.4.1-3), GNU ld version 2.35.2-43.el9"),
    Fleet("Red Hat Enterprise Linux 10.0 (Coughlan)",
          ("6.12.0-55.9.1.el10_0.x86_64", "6.12.0-55.9.1.el10_0.aarch64+64k"),
          ("570.158.01", "575.57.08", "580.82.07", "580.95.05", "590.44.01"),
          "gcc (GCC) 14.2.1 20250110 (Red Hat 14.2.1-7), GNU ld version 2.41-53.el10"),
    Fleet("Amazon Linux 2023",
          ("6.1.119-129.201.amzn2023.x86_64", "6.1.141-155.222.amzn2023.x86_64",
           "6.12.40-64.114.amzn2023.x86_64"),
          ("535.183.01", "550.127.05", "550.163.01", "570.133.20", "570.172.08", "580.65.06"),
          "gcc (GCC) 11.5.0 20240719 (Red Hat 11.5.0-5), GNU ld version 2.41-50.amzn2023.0.2"),
    Fleet("SUSE Linux Enterprise Server 15 SP5",
          ("5.14.21-150500.55.49-default", "5.14.21-150500.13.43-cray_shasta_c"),
          ("525.105.17", "535.129.03", "550.54.15", "565.57.01"),
          "gcc (SUSE Linux) 7.5.0, GNU ld (GNU Binutils; SUSE Linux Enterprise 15) 2.41"),
    Fleet("Debian GNU/Linux 12 (bookworm)",
          ("6.1.0-21-amd64", "6.1.0-28-amd64", "6.6.72+"),
          ("525.147.05", "535.183.01", "535.216.03", "550.90.12"),
          "gcc-12 (Debian 12.2.0-14) 12.2.0, GNU ld (GNU Binutils for Debian) 2.40"),
    Fleet("TencentOS Server 3.1",
          ("5.4.119-19.0009.28", "5.4.241-1-tlinux4-0017.7"),
          ("470.199.02", "525.116.04", "535.161.08", "535.183.06"),
          "gcc version 8.5.0 20210514 (Tencent 8.5.0-18) (GCC)"),
    Fleet("Alibaba Cloud Linux 3",
          ("5.10.134-16.3.al8.x86_64", "6.6.88-4.al8.x86_64"),
          ("470.161.03", "525.105.17", "535.161.08", "550.54.15", "550.90.07"),
          "gcc (GCC) 10.2.1 20200825 (Alibaba 10.2.1-3.8 2.32), GNU ld version 2.35-12.3.al8"),
)  # fmt: skip
FRAMEWORKS = (
    "megatron",
    "megatron-core",
    "nemo",
    "nemo-lightning",
    "lightning",
    "torchtitan",
    "deepspeed",
    "transformers",
    "composer",
    "plain",
)
# Who starts the job, and what its processes run in.
_STARTED_BY = (
    ("slurm", "enroot"),
    ("slurm", "enroot"),
    ("slurm", "singularity"),
    ("slurm", "bare"),
    ("kubernetes", "containerd"),
    ("kubernetes", "containerd"),
    ("kubernetes", "crio"),
    ("torchrun", "docker"),
)
_AGENTS = ("dcgm", "dcgm", "npd", "nhc", "nvsm", "gpud", "none")
_CONTROLLERS = ("ipmitool", "ipmitool", "racadm", "ilo", "supermicro", "redfish")
_FIRMWARE = ("20.39.3004", "28.39.1002", "28.41.1000", "28.43.2026", "40.44.1036")
_STORAGE = ("nfs", "nfs", "lustre", "weka", "gpfs", "beegfs", "s3")


def draw_software(chance: random.Random) -> Software:
    """What one job's machines run; fleets keep one system."""
    fleet = chance.choice(FLEETS)
    driver = chance.choice(fleet.drivers)
    scheduler, runtime = chance.choice(_STARTED_BY)
    return Software(
        fleet.system,
        chance.choice(fleet.kernels),
        fleet.compiler,
        driver,
        int(driver[:3]) >= 515 and chance.random() < 0.6,
        chance.choice(FRAMEWORKS),
        scheduler,
        runtime,
        chance.choice(_AGENTS),
        chance.choice(_CONTROLLERS),
        chance.choice(_STORAGE),
        chance.choice(_FIRMWARE),
    )
