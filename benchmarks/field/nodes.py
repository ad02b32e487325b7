"""Nodes of a job: names, clocks, buses, processes, and what their kernels and daemons say."""

import datetime as dt
import random
from dataclasses import dataclass, field

from benchmarks.field.platforms import Platform

DAY = 86400.0


@dataclass(slots=True)
class Line:
    """One record of a node's log. `ident` is `kernel`, or a daemon with its pid."""

    at: float
    text: str
    ident: str = "kernel"
    level: int = 6


@dataclass(slots=True)
class Node:
    """A host of the job."""

    name: str
    full: str
    index: int
    platform: Platform
    boot: float
    skew: float
    address: str
    driver: str
    kernel: str
    system: str
    pids: list[int]
    uuids: list[str]
    serials: list[str]
    zone: dt.timezone = dt.UTC
    lines: list[Line] = field(default_factory=list)
    dead_at: float | None = None
    reboots: list[float] = field(default_factory=list)
    boot_id: str = ""
    process: str = "python"

    def say(self, at: float, text: str, level: int = 6, ident: str = "kernel") -> None:
        """A record at a true time; the node's own clock is applied when it is written."""
        self.lines.append(Line(at, text, ident, level))

    def bus(self, gpu: int) -> str:
        """dddd:bb:dd of a GPU."""
        return self.platform.buses[gpu]

    def nic(self, i: int) -> tuple[str, str, str]:
        """(RDMA device, interface, bus address) of an adapter."""
        return self.platform.nics[i % len(self.platform.nics)]

    def booted(self, at: float) -> float:
        """When the boot that holds this time began."""
        return max([self.boot, *(b for b in self.reboots if b <= at)])

    def xid(
        self, at: float, gpu: int, code: int, text: str, pid: int | str | None = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        """A line of the NVIDIA driver with an error number, in the form of its version."""
        major = int(self.driver.split(".")[0])
        where = f"PCI:{self.bus(gpu)}"
        who = ""
        if pid == "unknown":
            who = ", pid='<unknown>', name=<unknown>" if major >= 470 else ", pid=<unknown>"
        elif pid is not None:
            who = f", pid={pid}, name={name or self.process}"
        self.say(at, f"NVRM: Xid ({where}): {code}{who}, {text}", 3)


def _uuid(rng: random.Random) -> str:
    h = f"{rng.getrandbits(128):032x}"
    return f"GPU-{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def name_of(pattern: str, n: int, rng: random.Random) -> str:
    """A node name of this pattern for the n-th machine of a fleet."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    return pattern.format(
        n=n,
        r=n // 18 + 1,
        m=n % 18 + 1,
        c=n % 5 + 1,
        b=(n * 37) % 251 + 2,
        h=(n * 2654435761) % 0xFFFFFF,
        v=letters[n % 36].upper(),
        w="".join(rng.choice(letters) for _ in range(4)),
    )


def draw_nodes(rng: random.Random, platform: Platform, count: int, now: float) -> list[Node]:
    """The nodes of one job: one pattern of names, one driver, boots of their own."""
    pattern = rng.choice(platform.names)
    first = rng.randrange(2, 160)
    rack = "{r" in pattern and platform.key == "gb200-nvl72"
    if rack:
        first = first // 18 * 18
    numbers: list[int] = []
    n = first
    while len(numbers) < count:
        numbers.append(n)
        n += 1 if rack or rng.random() < 0.6 else rng.randrange(2, 30)
    names: list[str] = []
    for n in numbers:
        name = name_of(pattern, n, rng)
        while name in names:
            n += 1
            name = name_of(pattern, n, rng)
        names.append(name)
    driver, kernel = rng.choice(platform.drivers), rng.choice(platform.kernels)
    system = rng.choice(platform.systems)
    process = rng.choice(["python", "python3", "pt_main_thread", "python3.10", "python3.11"])
    skewed = rng.choice([0.0, 0.005, 0.05, 0.4, 2.5])
    domain = platform.domain
    up = now - rng.uniform(2, 90) * DAY
    together = rng.random() < 0.5
    nodes = []
    for i, name in enumerate(names):
        boot = up + rng.uniform(0, 900) if together else now - rng.uniform(0.3, 70) * DAY
        pid = rng.randrange(4000, 3_800_000)
        nodes.append(
            Node(
                name, name + domain, i, platform, boot, rng.uniform(-skewed, skewed),
                f"10.{20 + first % 60}.{numbers[i] // 200}.{numbers[i] % 200 + 10}", driver, kernel,
                system, [pid + k * rng.randrange(1, 3) for k in range(platform.per_node)],
                [_uuid(rng) for _ in platform.buses],
                [f"16{rng.randrange(10**10, 10**11)}" for _ in platform.buses],
                process=process, boot_id=f"{rng.getrandbits(128):032x}",
            )
        )  # fmt: skip
        nodes[-1].pids = [pid + k for k in range(platform.per_node)]
    return nodes
