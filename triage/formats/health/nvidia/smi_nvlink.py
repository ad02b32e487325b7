"""``nvidia-smi nvlink -e``: errors of each NVLink since the driver was loaded.

::

    GPU 5: NVIDIA H200 (UUID: GPU-6b1f0c25-54a1-9d0e-77aa-0c5f3e1b2a95)
             Link 11: Replay Errors: 14
             Link 11: Recovery Errors: 2
             Link 11: CRC Errors: 903

Totals do not say when: they warn, and a healthy link has some replays.
"""

import re
from collections import defaultdict
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
# A link that retrains has lost its lanes; replays and CRC errors are mended.
RECOVERIES: Final = "recovery"


def claimed(head: str) -> bool:
    lines = head.lstrip("\ufeff\r\n").split("\n")[:2]
    return len(lines) == 2 and GPU.match(lines[0]) is not None and LINK.match(lines[1]) is not None


def read(text: str, reading: Reading) -> None:
    uuid, first, last = "", 1, 1
    counts: dict[str, int] = defaultdict(int)
    recovered: dict[str, int] = {}

    def end_gpu() -> None:
        if not uuid:
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
        link = LINK.match(line)
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
    reading.last_line = last


SMI_NVLINK: Final = CheckFormat("nvidia_smi_nvlink", claimed, read)
