"""``lspci -vv``: devices that no longer answer, and links that are narrower than they could be.

::

    5d:00.0 3D controller: NVIDIA Corporation GH100 [H200 SXM] (rev a1)
            LnkCap: Port #0, Speed 32GT/s, Width x16, ASPM not supported
            LnkSta: Speed 32GT/s, Width x8 (downgraded)
    6d:00.0 3D controller: NVIDIA Corporation GH100 [H200 SXM] (rev ff) (prog-if ff)
            !!! Unknown header type 7f

All ones is what a bus answers for a device that is not there. GPUs, adapters and drives are
judged; a bridge with fewer lanes than it could have is how boards are built. An idle GPU lowers
the speed of its link, never the width. Errors that registers kept are of any time since boot.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.reading import Reading, lines_of
from triage.signatures.pci import bus_id, full_address

__all__ = ["LSPCI"]

# A line of a device begins with its address; to search for one is cheaper than to try each line.
ADDRESS: Final = re.compile(r"\n(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] ")
# "0000:5d:00.0 3D controller [0302]: NVIDIA Corporation ... (rev a1)"
DEVICE: Final = re.compile(
    r"(?P<at>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) "
    r"(?P<kind>[A-Z0-9][\w/ &()-]{2,60}?)(?: \[[0-9a-f]{4}\])?: (?P<name>[^\n]{1,200}?)"
    r"(?: \(rev (?P<rev>[0-9a-f]{2})\))?(?: \(prog-if [0-9a-f]{2}[^\n]{0,40}\))?\s*$"
)
GONE: Final = re.compile(r"!!! Unknown header type 7f")
CAN: Final = re.compile(
    r"\s{1,16}LnkCap:\s[^\n]{0,40}?Speed (?P<speed>[\d.]{1,5})GT/s, Width x(?P<width>\d{1,2})"
)
IS: Final = re.compile(
    r"\s{1,16}LnkSta:\s{1,8}Speed (?P<speed>[\d.]{1,5}|unknown)(?:GT/s)?"
    r"(?: \((?:ok|downgraded)\))?, Width x(?P<width>\d{1,2})"
)
STATUS: Final = re.compile(
    r"\s{1,16}(?P<name>UESta|CESta):\s{1,8}(?P<bits>(?:[A-Z]\w{1,20}[+-] ?){2,20})"
)
HIDDEN: Final = re.compile(r"\s{1,16}Capabilities: <access denied>")
INDENTED: Final = re.compile(
    r"\s{1,16}(?:Subsystem|Control|Status|Kernel driver|Flags|Capabilities):"
)
GPU: Final = re.compile(r"3D controller|Processing accelerator|VGA compatible controller", re.I)
GPU_MAKER: Final = re.compile(
    r"\bnvidia\b|advanced micro devices|\bamd\b|instinct|habana|intel.{0,40}max", re.I
)
ADAPTER: Final = re.compile(r"infiniband|ethernet controller|network controller", re.I)
DRIVE: Final = re.compile(r"non-volatile memory", re.I)
# Set by questions that a device does not know, on nearly every board.
HARMLESS: Final = frozenset({"UnsupReq", "AdvNonFatalErr", "ACSViol"})
IDLE_GT: Final = 2.5


@dataclass(slots=True)
class Device:
    """One device; speeds in GT/s, widths in lanes, 0 where nothing says them."""

    at: str
    kind: str
    name: str
    line: int
    gone: bool
    can: tuple[float, int] | None = None
    now: tuple[float, int] | None = None
    kept: list[str] = field(default_factory=list)
    hidden: bool = False

    @property
    def is_gpu(self) -> bool:
        """Whether it is a GPU, and not the screen of a management controller."""
        return GPU.match(self.kind) is not None and GPU_MAKER.search(self.name) is not None

    @property
    def judged(self) -> bool:
        """Whether a job needs it."""
        return (
            self.is_gpu
            or ADAPTER.match(self.kind) is not None
            or DRIVE.match(self.kind) is not None
        )

    @property
    def part(self) -> str:
        """A GPU as its bus id, any other with its function."""
        whole = full_address(self.at) or self.at
        return bus_id(self.at) or whole if self.is_gpu else whole

    @property
    def category(self) -> Category:
        """What it is when it no longer answers."""
        if self.is_gpu:
            return Category.IO_BOARD
        return Category.NIC if ADAPTER.match(self.kind) is not None else Category.SSD


def claimed(head: str) -> bool:
    """Two devices, or one with what ``-v`` shows of it."""
    if ADDRESS.search(f"\n{head}") is None:
        return False
    lines = head.split("\n")
    devices = sum(DEVICE.match(line) is not None for line in lines)
    return devices > 1 or (
        devices == 1 and any(INDENTED.match(line) or GONE.search(line) for line in lines)
    )


def read(text: str, reading: Reading) -> None:
    devices: list[Device] = []
    for index, line in lines_of(text):
        found = DEVICE.match(line)
        if found is not None:
            gone = found["rev"] == "ff"
            devices.append(Device(found["at"], found["kind"], found["name"], index, gone))
            reading.saw(index)
        elif devices and line[:1].isspace() and line.strip():
            reading.saw(index)
            take(line, devices[-1])
    peers: dict[str, float] = defaultdict(float)
    for one in devices:
        if one.now is not None:
            peers[one.name] = max(peers[one.name], one.now[0])
    for one in devices:
        judge(one, peers.get(one.name, 0.0), reading)


def take(line: str, device: Device) -> None:
    if GONE.search(line) is not None:
        device.gone = True
    elif (can := CAN.match(line)) is not None:
        device.can = number(can["speed"]), int(can["width"])
    elif (now := IS.match(line)) is not None:
        device.now = number(now["speed"]), int(now["width"])
    elif HIDDEN.match(line) is not None:
        device.hidden = True
    elif (status := STATUS.match(line)) is not None:
        device.kept += [
            bit[:-1]
            for bit in status["bits"].split()
            if bit.endswith("+") and bit[:-1] not in HARMLESS
        ]


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def judge(device: Device, best: float, reading: Reading) -> None:
    """``best`` is the speed of the fastest of its model, in GT/s."""
    if not device.judged:
        return
    part, line = device.part, device.line
    if device.gone:
        reading.add(
            "pcie.device",
            Outcome.FAIL,
            part=part,
            detail=f"does not answer on the bus: {device.kind}: {device.name}",
            category=device.category,
            line=line,
        )
        return
    reading.add("pcie.device", Outcome.PASS, part=part, detail=device.name, line=line)
    if device.can is not None and device.now is not None:
        outcome, said = link_of(device, device.can, device.now, best)
        reading.add(
            "pcie.link", outcome, part=part, detail=said, category=Category.IO_BOARD, line=line
        )
    elif device.can is not None:
        reading.unknown("pcie.link", "the list breaks off in it", part=part, line=line)
    elif device.hidden:
        why = "its link is shown to root alone"
        reading.add("pcie.link", Outcome.SKIPPED, part=part, detail=why, line=line)
    if device.kept:
        reading.add(
            "pcie.errors",
            Outcome.WARN,
            part=part,
            detail=f"kept since boot: {', '.join(dict.fromkeys(device.kept))}",
            category=Category.IO_BOARD,
            line=line,
        )


def link_of(
    device: Device, can: tuple[float, int], now: tuple[float, int], best: float
) -> tuple[Outcome, str]:
    said = f"x{now[1]} of x{can[1]} at {now[0]:g} of {can[0]:g} GT/s"
    if now[1] < can[1]:
        return Outcome.FAIL, said
    if now[0] >= can[0] or not now[0]:
        return Outcome.PASS, said
    if device.is_gpu:
        idle = now[0] <= IDLE_GT
        return Outcome.WARN, f"{said}{': as an idle GPU does' if idle else ''}"
    slower = now[0] < best
    return (
        Outcome.FAIL if slower else Outcome.WARN,
        f"{said}, another of its model at {best:g}" if slower else said,
    )


LSPCI: Final = CheckFormat("lspci", claimed, read, cut_as="pcie.device")
