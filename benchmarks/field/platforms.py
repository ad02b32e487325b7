"""Nine kinds of cluster: boards, buses, adapters, names of nodes, software and who watches them.

Values are what public logs and vendors' documents of these machines show.
"""

# ruff: noqa: E501

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Platform:
    """One kind of cluster."""

    key: str
    vendor: str  # nvidia or amd
    gpu: str
    device: str  # PCI id of the GPU
    generation: str  # ampere, hopper, blackwell, cdna3
    buses: tuple[str, ...]  # dddd:bb:dd of the GPUs, by index
    nics: tuple[tuple[str, str, str], ...]  # (RDMA device, interface, bus:device.function)
    nic_driver: str
    link: str  # ib, roce, efa, tcp
    names: tuple[str, ...]  # patterns of node names
    domain: str  # what stands behind the short name
    drivers: tuple[str, ...]
    kernels: tuple[str, ...]
    systems: tuple[str, ...]
    schedulers: tuple[str, ...]
    runtimes: tuple[str, ...]
    agents: tuple[str, ...]
    bmc: str  # none, ami, supermicro, dell, hpe, lenovo, openbmc
    storage: tuple[str, ...]
    cpu: str = "Intel"
    arch: str = "x86_64"

    @property
    def per_node(self) -> int:
        """GPUs of a node."""
        return len(self.buses)


def _mlx(buses: str, first: str = "mlx5_", names: str = "ibp") -> tuple[tuple[str, str, str], ...]:
    rows = []
    for i, bus in enumerate(buses.split()):
        full = bus if ":" in bus else f"0000:{bus}:00.0"
        iface = (
            f"{names}{int(full.split(':')[1], 16)}s0" if names in ("ibp", "enp") else f"{names}{i}"
        )
        rows.append((f"{first}{i}", iface, full))
    return tuple(rows)


def _gpus(buses: str) -> tuple[str, ...]:
    return tuple(b if ":" in b else f"0000:{b}:00" for b in buses.split())


PLATFORMS = (
    Platform(
        "dgx-a100", "nvidia", "NVIDIA A100-SXM4-80GB", "10de:20b2", "ampere",
        _gpus("07 0f 47 4e 87 90 b7 bd"), _mlx("0c 12 4b 54 8d 94 ba cc"), "mlx5_core", "ib",
        ("dgx{n:03d}", "luna-{n:04d}", "dgx-a100-{n:02d}", "r{r:02d}-dgx{m:02d}"), ".cluster.local",
        ("470.182.03", "470.239.06", "510.108.03", "515.105.01", "525.147.05", "535.161.08"),
        ("5.4.0-144-generic", "5.4.0-170-generic", "5.15.0-1042-nvidia"),
        ("Ubuntu 20.04.6 LTS", "Ubuntu 22.04.4 LTS", "Rocky Linux 8.9"),
        ("slurm", "lsf", "pbs", "torchrun"), ("enroot", "docker", "singularity"),
        ("dcgm", "nhc", "none"), "ami", ("lustre", "nfs", "gpfs"), "AMD",
    ),
    Platform(
        "dgx-h100", "nvidia", "NVIDIA H100 80GB HBM3", "10de:2330", "hopper",
        _gpus("1b 43 52 61 9d c3 d1 df"), _mlx("18 40 4f 5e 9a c0 ce dc"), "mlx5_core", "ib",
        ("a{r:02d}-p1-dgx-{m:02d}-c{c:02d}", "dgx-h100-{n:03d}", "batch-block{c}-{n:04d}", "hgx-isr1-{n:03d}"), ".nvcluster.internal",
        ("525.125.06", "535.129.03", "535.216.01", "550.90.07", "550.163.01", "570.124.06"),
        ("5.15.0-1032-nvidia", "5.15.0-1053-nvidia", "6.8.0-1013-nvidia"),
        ("Ubuntu 22.04.3 LTS", "Ubuntu 22.04.5 LTS"),
        ("slurm", "slurm", "kubernetes:kubeflow", "torchrun"), ("enroot", "containerd"),
        ("dcgm", "nvsm", "nhc"), "ami", ("lustre", "nfs", "weka"),
    ),
    Platform(
        "hgx-h200-cloud", "nvidia", "NVIDIA H200", "10de:2335", "hopper",
        _gpus("19 3b 4c 5d 9b bb cb db"), _mlx("1a 3c 4d 5e 9c bc cc dc"), "mlx5_core", "ib",
        ("g{h:06x}", "gd{h:05x}", "us-east-04-{n:03d}", "h200-{c}-{n:03d}-rno2"), "",
        ("550.127.08", "560.35.05", "565.57.01", "570.133.20", "570.172.08"),
        ("6.2.15-gb6b7d1d", "6.5.0-45-generic", "6.8.0-79-generic", "6.11.0-26-generic"),
        ("Ubuntu 22.04.5 LTS", "Ubuntu 24.04.1 LTS"),
        ("kubernetes:kubeflow", "kubernetes:jobset", "kubernetes:mpi", "slurm", "ray"),
        ("containerd", "crio"), ("npd", "nvsentinel", "gpud", "dcgm"), "supermicro", ("vast", "nfs", "s3"),
    ),
    Platform(
        "gb200-nvl72", "nvidia", "NVIDIA GB200", "10de:2941", "blackwell",
        _gpus("0008:01:00 0009:01:00 0018:01:00 0019:01:00"),
        _mlx("0000:03:00.0 0002:03:00.0 0010:03:00.0 0012:03:00.0", names="ibp"), "mlx5_core", "ib",
        ("gb200-rack{r:02d}-{m:02d}", "nvl72{r:03d}-t{m:02d}", "slinky-{n}", "r{r:02d}c{m:02d}-gb"), ".gb.cluster",
        ("570.124.06", "570.158.01", "575.57.08", "580.65.06", "580.95.05", "590.44.01"),
        ("6.8.0-1021-nvidia-64k", "6.8.0-1033-nvidia-64k", "6.11.0-1011-nvidia-64k", "6.12.0-55.9.1.el10_0.aarch64+64k"),
        ("Ubuntu 22.04.5 LTS", "Ubuntu 24.04.2 LTS", "Red Hat Enterprise Linux 10.0"),
        ("slurm", "kubernetes:dra", "kubernetes:jobset"), ("enroot", "containerd"),
        ("dcgm", "nvsentinel", "none"), "openbmc", ("lustre", "weka", "s3"), "ARM", "aarch64",
    ),
    Platform(
        "aws-p5", "nvidia", "NVIDIA H100 80GB HBM3", "10de:2330", "hopper",
        _gpus("53 64 75 86 97 a8 b9 ca"),
        tuple((f"rdmap{b}s0", f"enp{b}s0", f"0000:{b:02x}:00.0") for b in (0x4f, 0x60, 0x71, 0x82, 0x93, 0xa4, 0xb5, 0xc6)),
        "efa", "efa",
        ("ip-10-{c}-{m}-{b}", "ip-172-31-{m}-{b}", "queue1-dy-p5-{n}", "p5-st-worker-{n}"), ".ec2.internal",
        ("525.105.17", "535.183.01", "550.127.05", "550.163.01", "570.172.08"),
        ("5.10.228-219.884.amzn2.x86_64", "6.1.119-129.201.amzn2023.x86_64", "6.8.0-1021-aws", "6.12.40-64.114.amzn2023.x86_64"),
        ("Amazon Linux 2", "Amazon Linux 2023", "Ubuntu 22.04.5 LTS"),
        ("slurm", "kubernetes:kubeflow", "ray"), ("enroot", "containerd", "docker"),
        ("dcgm", "hyperpod", "npd"), "none", ("fsx", "efs", "s3"), "AMD",
    ),
    Platform(
        "azure-nd", "nvidia", "NVIDIA H100 80GB HBM3", "10de:2330", "hopper",
        _gpus("0001:00:00 0002:00:00 0003:00:00 0008:00:00 0009:00:00 000a:00:00 000b:00:00 000c:00:00"),
        _mlx("0101:00:00.0 0102:00:00.0 0103:00:00.0 0104:00:00.0 0105:00:00.0 0106:00:00.0 0107:00:00.0 0108:00:00.0", first="mlx5_ib", names="ib"),
        "mlx5_core", "ib",
        ("ccw-hpc-{n}", "ndv5-vmss0000{v}", "aks-ndh100-3154{m:02d}-vmss0000{v}", "hpc-pg0-{n}"), "",
        ("525.105.17", "535.161.08", "550.90.07", "550.144.03", "560.35.03"),
        ("5.15.0-1064-azure", "5.15.0-1074-azure", "6.8.0-1021-azure", "6.6.64.2-9.azl3"),
        ("Ubuntu 22.04.5 LTS", "Microsoft Azure Linux 3.0"),
        ("slurm", "slurm", "kubernetes:volcano"), ("enroot", "containerd"),
        ("aznhc", "npd", "dcgm"), "none", ("lustre", "blobfuse", "nfs"),
    ),
    Platform(
        "gcp-a3", "nvidia", "NVIDIA H100 80GB HBM3", "10de:2330", "hopper",
        _gpus("04 05 0a 0b 84 85 8a 8b"),
        tuple((f"gve{i}", f"eth{i + 1}", f"0000:{b}:00.0") for i, b in enumerate(("06", "0c", "86", "8c"))),
        "gve", "tcp",
        ("a3mega-a3nodeset-{n}", "gke-train-a3-mega-np-{c}-{h:06x}5c-{w}", "slurmgcp-a3h-{n}", "gke-a3-ultra-{h:06x}-{w}"), "",
        ("535.161.07", "535.216.03", "550.90.12", "550.144.03", "570.133.20"),
        ("5.15.0-1065-gcp", "6.1.112+", "6.6.72+", "6.8.0-1027-gcp"),
        ("Container-Optimized OS from Google", "Ubuntu 22.04.5 LTS", "Rocky Linux 8.10"),
        ("kubernetes:jobset", "slurm", "ray"), ("containerd", "enroot"),
        ("npd", "dcgm"), "none", ("gcsfuse", "filestore", "lustre"),
    ),
    Platform(
        "mi300x", "amd", "AMD Instinct MI300X", "1002:74a1", "cdna3",
        _gpus("05 26 46 65 85 a6 c6 e5"),
        tuple((f"bnxt_re{i}", f"ens{k}np0", f"0000:{b}:00.0") for i, (k, b) in enumerate(((28, "06"), (27, "23"), (26, "43"), (25, "66"), (24, "86"), (23, "a3"), (22, "c3"), (21, "e6")))),
        "bnxt_en", "roce",
        ("mi300x-{n:03d}", "smc300x-ccs-aus-{n:02d}", "tw{r:03d}", "chi{n}"), ".amd.lab",
        ("6.8.5", "6.10.5", "6.12.12", "6.14.14"),
        ("5.15.0-116-generic", "6.8.0-60-generic", "5.14.0-503.el9.x86_64", "6.12.0-1.el9.x86_64"),
        ("Ubuntu 22.04.5 LTS", "Ubuntu 24.04.2 LTS", "Red Hat Enterprise Linux 9.5"),
        ("slurm", "kubernetes:mpi", "torchrun"), ("docker", "containerd", "podman"),
        ("amdsmi", "none"), "supermicro", ("nfs", "lustre", "ceph"), "AMD",
    ),
    Platform(
        "roce-fleet", "nvidia", "NVIDIA H800", "10de:2324", "hopper",
        _gpus("18 2a 3a 5d 9a ab ba db"), _mlx("1b 2e 3e 61 9e ae be de", first="mlx5_bond_", names="bond"), "mlx5_core", "roce",
        ("gpu-10-22-{m}-{b}", "gpu{n:05d}.na61", "cn-bj-h800-{n:04d}", "SH-IDC1-10-140-{m}-{b}"), "",
        ("470.199.02", "525.116.04", "535.161.08", "535.183.06", "550.54.15"),
        ("5.4.119-19.0009.28", "5.10.134-16.3.al8.x86_64", "5.15.131-2.cl9.x86_64", "6.6.88-4.al8.x86_64"),
        ("TencentOS Server 3.1", "Alibaba Cloud Linux 3", "BigCloud Enterprise Linux"),
        ("kubernetes:volcano", "kubernetes:kubeflow", "torchrun", "ray"), ("containerd", "docker"),
        ("npd", "dcgm", "none"), "lenovo", ("cpfs", "juicefs", "ceph", "nfs"),
    ),
)  # fmt: skip

BY_KEY = {p.key: p for p in PLATFORMS}
