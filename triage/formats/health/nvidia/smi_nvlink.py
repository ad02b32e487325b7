"""``nvidia-smi nvlink -e`` and ``-s``: errors of each NVLink, and which links are up.

::

    GPU 5: NVIDIA H200 (UUID: GPU-6b1f0c25-54a1-9d0e-77aa-0c5f3e1b2a95)
             Link 11: Replay Errors: 14
             Link 11: Recovery Errors: 2
             Link 11: CRC Errors: 903

    GPU 6: NVIDIA H200 (UUID: GPU-6b1f0c25-54a1-9d0e-77aa-0c5f3e1b2a96)
             Link 0: 26.562 GB/s
             Link 1: <inactive>

Totals of errors do not say when: they warn, and a healthy link has some replays. A GPU with fewer
links up than others of its node has lost them; a link that is down on all may be unused.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.reading import Reading, lines_of

__all__ = ["SMI_NVLINK"]

GPU: Final = re.compile(
    r"GPU (?P<index>\d{1,3}): [^\n]{1,80}?\(UUID: (?P<uuid>GPU-[0-9a-f-]{36})\)"
)
LINK: Final = re.compile(
    r"\s{1,16}Link (?P<link>\d{1,3}): (?P<what>[A-Z][\w ]{2,40} Errors?):"
    r" (?P<count>\d{1,18}|N/A)\s*$"
)
SPEED: Final = re.compile(
    r"\s{1,16}Link (?P<link>\d{1,3}): (?P<state>[\d.]{1,10} GB/s|<inactive>)\s*$"
)
# A link that retrains has lost its lanes; replays and CRC errors are mended.
RECOVERIES: Final = "recovery"


def claimed(head: str) -> bool:
    lines = head.lstrip("\ufeff\r\n").split("\n")[:2]
    if len(lines) < 2 or GPU.match(lines[0]) is None:
        return False
    return LINK.match(lines[1]) is not None or SPEED.match(lines[1]) is not None


def read(text: str, reading: Reading) -> None:
    uuid, first, last = "", 1, 1
    counts: dict[str, int] = defaultdict(int)
    recovered: dict[str, int] = {}
    links_of: dict[str, tuple[int, list[str], list[str]]] = {}

    def end_gpu() -> None:
        if not uuid or uuid in links_of:
            return
        said = ", ".join(f"{count} {what.lower()}" for what, count in counts.items() if count)
        links = ", ".join(f"link {link}" for link in list(recovered)[:8])
        if links:
            said += f"; {links} recovered"
        reading.add(
            "gpu.nvlink_errors",
            Outcome.WARN if recovered else Outcome.PASS,
            part=uuid,
            detail=said or "no errors",
            category=Category.NVLINK,
            line=first,
        )

    for index, line in lines_of(text):
        gpu = GPU.match(line)
        if gpu is not None:
            end_gpu()
            uuid, first, last = gpu["uuid"], index, index
            counts, recovered = defaultdict(int), {}
            continue
        link, speed = LINK.match(line), SPEED.match(line)
        if speed is not None and uuid:
            last = index
            up, down = links_of.setdefault(uuid, (first, [], []))[1:]
            (down if speed["state"].startswith("<") else up).append(speed["link"])
            continue
        if link is None:
            if line.strip():
                break
            continue
        last = index
        if link["count"] != "N/A":
            counts[link["what"]] += int(link["count"])
            if RECOVERIES in link["what"].lower() and int(link["count"]):
                recovered[link["link"]] = int(link["count"])
    end_gpu()
    of_links(links_of, reading)
    reading.last_line = last


def of_links(links_of: Mapping[str, tuple[int, list[str], list[str]]], reading: Reading) -> None:
    """Which links are up, each GPU beside the one with the most."""
    most = max((len(up) for _, up, _ in links_of.values()), default=0)
    for uuid, (line, up, down) in links_of.items():
        outcome = Outcome.PASS
        if down:
            outcome = Outcome.FAIL if len(up) < most else Outcome.WARN
        said = f"{len(down)} of {len(up) + len(down)} links down"
        said += f": {', '.join(down[:16])}" if down else ""
        reading.add(
            "gpu.nvlink", outcome, part=uuid, detail=said, category=Category.NVLINK, line=line
        )


SMI_NVLINK: Final = CheckFormat(
    "nvidia_smi_nvlink",
    claimed,
    read,
    cut_as="gpu.nvlink",
    part=GPU,
    words=("(UUID: GPU-",),
)
