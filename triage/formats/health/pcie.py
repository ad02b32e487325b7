"""``lspci -vv``: devices that no longer answer, and links that are narrower than they could be.

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
from triage.domain.patterns import compile_re
from triage.formats.health.reading import FAIL, PASS, SKIPPED, WARN, Reading, iterate_lines
from triage.signatures.pci import normalize_bus_id, normalize_full_address

# A line of a device begins with its address; to search for one is cheaper than to try each line.
_ADDRESS: Final = compile_re(r"\n(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] ")
# "0000:5d:00.0 3D controller [0302]: NVIDIA Corporation ... (rev a1)"
_DEVICE: Final = compile_re(
    r"(?P<at>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) "
    r"(?P<kind>[A-Z0-9][\w/ &()-]{2,60}?)(?: \[[0-9a-f]{4}\])?: (?P<name>[^\n]{1,200}?)"
    r"(?: \(rev (?P<rev>[0-9a-f]{2})\))?(?: \(prog-if [0-9a-f]{2}[^\n]{0,40}\))?\s*$"
)
_GONE: Final = compile_re(r"!!! Unknown header type 7f")
_CAN: Final = compile_re(
    r"\s{1,16}LnkCap:\s[^\n]{0,40}?Speed (?P<speed>[\d.]{1,5})GT/s, Width x(?P<width>\d{1,2})"
)
_IS: Final = compile_re(
    r"\s{1,16}LnkSta:\s{1,8}Speed (?P<speed>[\d.]{1,5}|unknown)(?:GT/s)?"
    r"(?: \((?:ok|downgraded)\))?, Width x(?P<width>\d{1,2})"
)
_STATUS: Final = compile_re(
    r"\s{1,16}(?:UESta|CESta):\s{1,8}(?P<bits>(?:[A-Z]\w{1,20}[+-] ?){2,20})"
)
_HIDDEN: Final = compile_re(r"\s{1,16}Capabilities: <access denied>")
_INDENTED: Final = compile_re(
    r"\s{1,16}(?:Subsystem|Control|Status|Kernel driver|Flags|Capabilities):"
)
GPU: Final = compile_re(r"3D controller|Processing accelerator|VGA compatible controller", re.I)
_GPU_MAKER: Final = compile_re(
    r"\bnvidia\b|advanced micro devices|\bamd\b|instinct|habana|intel.{0,40}max", re.I
)
_ADAPTER: Final = compile_re(r"infiniband|ethernet controller|network controller", re.I)
_DRIVE: Final = compile_re(r"non-volatile memory", re.I)
# Set by questions that a device does not know, on nearly every board.
_HARMLESS: Final = frozenset({"UnsupReq", "AdvNonFatalErr", "ACSViol"})
_IDLE_GT: Final = 2.5


@dataclass(slots=True)
class Device:
    """One device; links are (GT/s, lanes), with 0 where nothing says them."""

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
        return GPU.match(self.kind) is not None and _GPU_MAKER.search(self.name) is not None

    @property
    def category(self) -> Category | None:
        """What it is when it no longer answers; None where no job needs it."""
        if self.is_gpu:
            return Category.IO_BOARD
        if _ADAPTER.match(self.kind) is not None:
            return Category.NIC
        return Category.SSD if _DRIVE.match(self.kind) is not None else None


def begins_lspci(head: str) -> bool:
    """Two devices, or one with what ``-v`` shows of it."""
    if _ADDRESS.search(f"\n{head}") is None:
        return False
    lines = head.split("\n")
    devices = sum(_DEVICE.match(line) is not None for line in lines)
    shown = devices == 1 and any(_INDENTED.match(line) or _GONE.search(line) for line in lines)
    return devices > 1 or shown


def read_lspci(text: str, reading: Reading) -> None:
    devices: list[Device] = []
    for index, line in iterate_lines(text):
        found = _DEVICE.match(line)
        if found is not None:
            gone = found["rev"] == "ff"
            devices.append(Device(found["at"], found["kind"], found["name"], index, gone))
            reading.saw(index)
        elif devices and line[:1].isspace() and line.strip():
            reading.saw(index)
            _take(line, devices[-1])
    fastest: dict[str, float] = defaultdict(float)
    for one in devices:
        if one.now is not None:
            fastest[one.name] = max(fastest[one.name], one.now[0])
    for one in devices:
        if one.category is not None:
            _judge_device(one, one.category, fastest.get(one.name, 0.0), reading)


def _take(line: str, device: Device) -> None:
    if _GONE.search(line) is not None:
        device.gone = True
    elif (can := _CAN.match(line)) is not None:
        device.can = number(can["speed"]), int(can["width"])
    elif (now := _IS.match(line)) is not None:
        device.now = number(now["speed"]), int(now["width"])
    elif _HIDDEN.match(line) is not None:
        device.hidden = True
    elif (status := _STATUS.match(line)) is not None:
        bits = [bit[:-1] for bit in status["bits"].split() if bit.endswith("+")]
        device.kept += [bit for bit in bits if bit not in _HARMLESS]


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _judge_device(device: Device, category: Category, best: float, reading: Reading) -> None:
    """``best`` is the speed of the fastest of its model, in GT/s."""
    part, line = normalize_full_address(device.at) or device.at, device.line
    if device.is_gpu:
        part = normalize_bus_id(device.at) or part
    if device.gone:
        said = f"does not answer on the bus: {device.kind}: {device.name}"
        reading.add("pcie.device", FAIL, part, said, category, line)
        return
    reading.add("pcie.device", PASS, part, device.name, line=line)
    if device.can is not None and device.now is not None:
        outcome, said = _judge_link(device.is_gpu, device.can, device.now, best)
        reading.add("pcie.link", outcome, part, said, Category.IO_BOARD, line)
    elif device.can is not None:
        reading.unknown("pcie.link", "the list breaks off in it", part, line)
    elif device.hidden:
        reading.add("pcie.link", SKIPPED, part, "its link is shown to root alone", line=line)
    if device.kept:
        said = f"kept since boot: {', '.join(dict.fromkeys(device.kept))}"
        reading.add("pcie.errors", WARN, part, said, Category.IO_BOARD, line)


def _judge_link(
    is_gpu: bool, can: tuple[float, int], now: tuple[float, int], best: float
) -> tuple[Outcome, str]:
    said = f"x{now[1]} of x{can[1]} at {now[0]:g} of {can[0]:g} GT/s"
    if now[1] < can[1]:
        return FAIL, said
    if now[0] >= can[0] or not now[0]:
        return PASS, said
    if is_gpu:
        return WARN, f"{said}{': as an idle GPU does' if now[0] <= _IDLE_GT else ''}"
    if now[0] < best:
        return FAIL, f"{said}, another of its model at {best:g}"
    return WARN, said
