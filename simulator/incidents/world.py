"""The machines and the software of one simulated job: nodes, GPUs, clocks, generations."""

import random
from dataclasses import dataclass, field
from functools import partial

from simulator.incidents.software import Software, draw_software

SECOND = 1_000_000_000
# Bus ids of eight-GPU boards as vendors wire them; ARM boards put every GPU into its own domain.
BOARDS = (
    ("0000:18:00", "0000:2a:00", "0000:3a:00", "0000:5d:00",
     "0000:9a:00", "0000:ab:00", "0000:ba:00", "0000:db:00"),
    ("0000:1b:00", "0000:43:00", "0000:52:00", "0000:61:00",
     "0000:9d:00", "0000:c3:00", "0000:d1:00", "0000:df:00"),
    ("0000:07:00", "0000:0f:00", "0000:47:00", "0000:4e:00",
     "0000:87:00", "0000:90:00", "0000:b7:00", "0000:bd:00"),
    ("0001:00:00", "0002:00:00", "0003:00:00", "0008:00:00",
     "0009:00:00", "000a:00:00", "000b:00:00", "000c:00:00"),
    ("0008:01:00", "0009:01:00", "0018:01:00", "0019:01:00",
     "0028:01:00", "0029:01:00", "0038:01:00", "0039:01:00"),
)  # fmt: skip
_ZONES_S = (0, 0, 0, 0, -8 * 3600, -5 * 3600, 3600, 8 * 3600, 5 * 3600 + 1800)
# GPUs, and the driver that first knew them.
_GPUS = (
    ("NVIDIA A100-SXM4-80GB", 450),
    ("NVIDIA A100-SXM4-40GB", 450),
    ("NVIDIA H100 80GB HBM3", 525),
    ("NVIDIA H800", 525),
    ("NVIDIA H200", 545),
    ("NVIDIA B200", 570),
    ("NVIDIA GB200", 570),
    ("NVIDIA B300 SXM6 AC", 580),
)
# Generations of c10d print differently: see job_voice.
_TORCHES = ("2.0", "2.1", "2.2", "2.4", "2.5", "2.6", "2.7", "2.8", "2.9")


@dataclass(slots=True)
class Node:
    """One host: ``skew_ns`` is what its wall clock adds to true time, ``zone_s`` its time zone."""

    index: int
    name: str
    domain: str
    ip: str
    buses: tuple[str, ...]
    zone_s: int
    skew_ns: int
    boot_ns: int
    form: str = "raw"
    pid_base: int = 2000
    leaf: str = ""
    drift_ns: int = 0

    @property
    def fqdn(self) -> str:
        """The name with its domain, where it has one."""
        return f"{self.name}.{self.domain}" if self.domain else self.name


@dataclass(slots=True)
class World:
    """A job's machines. ``rank r`` sits on ``nodes[r // gpus_per_node]``."""

    nodes: list[Node]
    ranks: int
    gpus_per_node: int
    torch: str
    nccl: str
    python: str
    gpu: str
    job_id: str
    seed: str
    software: Software
    hcas: tuple[str, ...] = field(default=())

    def node_of(self, rank: int) -> Node:
        """The node of ``rank``."""
        return self.nodes[rank // self.gpus_per_node]

    def bus_of(self, rank: int) -> str:
        """The bus id of the GPU of ``rank``, ``dddd:bb:dd``."""
        return self.node_of(rank).buses[rank % self.gpus_per_node]

    def local(self, rank: int) -> int:
        """The local rank."""
        return rank % self.gpus_per_node

    def pid(self, rank: int) -> int:
        """The host's process id of ``rank``."""
        return self.node_of(rank).pid_base + 11 * self.local(rank) + 3

    def ranks_on(self, node: Node) -> list[int]:
        """The ranks of ``node``."""
        first = node.index * self.gpus_per_node
        return list(range(first, min(first + self.gpus_per_node, self.ranks)))

    @property
    def driver(self) -> int:
        """The branch of the GPUs' driver."""
        return self.software.branch

    @property
    def driver_text(self) -> str:
        """The version of the GPUs' driver."""
        return self.software.driver

    @property
    def utc_inside(self) -> bool:
        """Whether the containers' clocks show UTC, whatever the nodes do."""
        return self.chance("container zone").random() < 0.3

    def chance(self, purpose: str) -> random.Random:
        """Random choices that depend on the seed and on what they are for."""
        return random.Random(f"{self.seed}/{purpose}")


def build_world(seed: str, ranks: int, gpus_per_node: int, now_ns: int, skew_s: float) -> World:
    """Machines by chance; ``skew_s`` is how far a clock may be off, either way."""
    chance = random.Random(f"{seed}/world")
    count = -(-ranks // gpus_per_node)
    names, domain = _names(chance, count)
    board = chance.choice(BOARDS)
    # Fleets keep one time zone; now and then a few nodes were set up otherwise.
    zone = chance.choice(_ZONES_S)
    torch = chance.choice(_TORCHES)
    per_leaf = chance.choice((2, 4, 8)) if count <= 64 else 32
    node_of_fleet = partial(Node, domain=domain, buses=board, zone_s=zone)
    nodes = []
    for index, name in enumerate(names):
        skewed = skew_s > 0 and chance.random() < 0.8
        third = chance.randrange(1, 250) if count < 3 else 40 + index // 4096
        node = node_of_fleet(
            index=index,
            name=name,
            ip=f"10.{third}.{index // 200 % 250}.{index % 200 + 11}",
            skew_ns=int(chance.uniform(-skew_s, skew_s) * SECOND) if skewed else 0,
            boot_ns=now_ns - int(chance.uniform(0.3, 60.0) * 86_400 * SECOND),
            pid_base=chance.randrange(2_000, 900_000),
            leaf=f"leaf{index // per_leaf + 1:02d}",
            # A long-up host's dmesg -T is off by seconds.
            drift_ns=int(chance.uniform(-2.0, 6.0) * SECOND),
        )
        nodes.append(node)
    software = draw_software(random.Random(f"{seed}/software"))
    return World(
        nodes,
        ranks,
        gpus_per_node,
        torch,
        chance.choice(("2.18.5", "2.20.5", "2.21.5", "2.25.1", "2.27.3")),
        chance.choice(("3.10", "3.11", "3.12")),
        chance.choice([gpu for gpu, since in _GPUS if since <= software.branch]),
        str(chance.randrange(1_000, 9_900_000)),
        seed,
        software,
        tuple(f"mlx5_{place}" for place in range(gpus_per_node)),
    )


def _names(chance: random.Random, count: int) -> tuple[list[str], str]:
    """Node names of one style, not always without gaps."""
    style = chance.randrange(7)
    if style == 5 and count > 3000:
        style = 1
    first = chance.randrange(1, 60)
    gap = chance.choice((1, 1, 1, 2))
    numbers = [first + gap * place for place in range(count)]
    domain = chance.choice(("", "", "", "cluster.local", "hpc.example.org"))
    if style == 0:
        return [f"gpu-{n:04d}" for n in numbers], domain
    if style == 1:
        return [f"n{n}" for n in range(count)], ""
    if style == 2:
        return [f"hgx-r{n // 18 + 10}-n{n % 18 + 1:02d}" for n in numbers], domain
    if style == 3:
        return [f"ip-10-{40 + n // 60000}-{n // 240 % 250}-{n % 240 + 4}" for n in numbers], (
            "ec2.internal" if domain else ""
        )
    if style == 4:
        return [f"c{n // 40 + 20}-{n % 40:02d}" for n in numbers], domain
    if style == 5:
        return [f"dgx{n:03d}" for n in numbers], domain
    return [f"trn-{n:05d}" for n in numbers], ""
