"""``dcgmi nvlink -s``: which NVLinks are up, GPU by GPU, switch by switch.

::

    |  NvLink Link Status  |
    GPUs:
        gpuId 5:
            U U U U U U U U U U U D U U U U U U
    NvSwitches:
        physicalId 8:
            U U U _ ...
    Key: Up=U, Down=D, Disabled=X, Not Supported=_

The place in a row is the link's number. A GPU whose links are all down may be a card without a
bridge: a link that is down fails where another one of the same node is up. A port of a switch
warns: what hangs on it is not said.
"""

import re
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.reading import Reading, lines_of

__all__ = ["NVLINK_STATUS"]

TITLE: Final = re.compile(r"\|\s{1,20}NvLink Link Status\s{1,20}\|")
ENTITY: Final = re.compile(r"\s{0,16}(gpuId|physicalId) (\d{1,4}):?\s*$", re.IGNORECASE)
LINKS: Final = re.compile(r"\s{0,40}(?:[UDX_N](?:\s+|$)){1,256}$")
# It explains the letters behind all GPUs and switches.
KEY: Final = re.compile(r"^\s{0,16}Key: Up=U", re.MULTILINE)
MAX_NAMED: Final = 16


def claimed(head: str) -> bool:
    return TITLE.search(head[:600]) is not None


def read(text: str, reading: Reading) -> None:
    rows: list[tuple[str, str, int]] = []
    name, last, begun = "", 1, False
    for index, line in lines_of(text):
        begun = begun or TITLE.search(line) is not None
        if not begun:
            reading.first_line = index + 1
            continue
        entity = ENTITY.match(line)
        if entity is not None:
            kind = "gpu" if entity[1].lower() == "gpuid" else "nvswitch"
            name, last = f"{kind} {entity[2]}", index
        elif name and LINKS.match(line) is not None:
            rows.append((name, "".join(line.split()), index))
            name, last = "", index
        elif line.lstrip().startswith(("+", "|", "GPUs", "NvSwitches", "Key:")):
            last = index
        elif line.strip():
            break
    reading.last_line = last
    any_up = any("U" in links for name, links, _ in rows if name.startswith("gpu"))
    for name, links, index in rows:
        down = [str(place) for place, state in enumerate(links) if state == "D"]
        said = f"{len(down)} of {len(links)} links down" + (
            f": {', '.join(down[:MAX_NAMED])}" if down else ""
        )
        outcome = Outcome.PASS
        if down:
            fails = any_up and name.startswith("gpu")
            outcome = Outcome.FAIL if fails else Outcome.WARN
        reading.add(
            "dcgm.nvlink", outcome, part=name, detail=said, category=Category.NVLINK, line=index
        )


NVLINK_STATUS: Final = CheckFormat(
    "dcgm_nvlink",
    claimed,
    read,
    cut_as="dcgm.nvlink",
    ends=KEY,
    words=("NvLink Link Status",),
)
