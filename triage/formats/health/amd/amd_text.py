"""amd-smi and rocm-smi as text: counted errors and retired pages of each GPU.

::

    GPU: 5
        ECC:
            TOTAL_UNCORRECTABLE_COUNT: 1
        ECC_BLOCKS:
            UMC:
                UNCORRECTABLE_COUNT: 1

    GPU[5]          :       RAS INFO
             Block       Status  Correctable Error  Uncorrectable Error
               UMC      ENABLED                  0                    1

Counts are since the driver was loaded.
"""

import re
from typing import Any, Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.amd.amd_smi import BLOCKS, of_gpu
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.reading import Reading, lines_of

__all__ = ["AMD_SMI_TEXT", "ROCM_SMI"]

GPU: Final = re.compile(r"GPU: (\d{1,4})\s*$")
KEY: Final = re.compile(r"(\s{1,40})([A-Z][A-Z0-9_]{1,60}):(?:\s(.{0,200}))?$")
PARTS: Final = re.compile(r"^\s{1,8}(?:ECC|ECC_BLOCKS|RETIRED|PENDING|UN_RES):", re.MULTILINE)
CLAIM: Final = re.compile(r"^GPU: \d{1,4}\s*$", re.MULTILINE)
PAGE_LISTS: Final = ("retired", "pending", "un_res")
NUMBER: Final = re.compile(r"\d{1,12}", re.ASCII)


def claimed(head: str) -> bool:
    return CLAIM.search(head) is not None and PARTS.search(head) is not None


def read(text: str, reading: Reading) -> None:
    """The tree of each GPU, by indentation, judged as what ``--json`` prints."""
    part = ""
    tree: dict[str, Any] = {}
    path: list[tuple[int, dict[str, Any]]] = []
    for index, line in lines_of(text):
        gpu, key = GPU.match(line), KEY.match(line)
        if gpu is not None:
            ended(part, tree, reading)
            reading.saw(index)
            part, tree = f"gpu {int(gpu[1])}", {}
            path = [(0, tree)]
        elif part and key is not None:
            reading.saw(index)
            depth, name, value = len(key[1]), key[2].lower(), (key[3] or "").strip()
            while len(path) > 1 and path[-1][0] >= depth:
                path.pop()
            below: dict[str, Any] = {}
            path[-1][1][name] = int(value) if NUMBER.fullmatch(value) else (value or below)
            if name == "page_address":
                # Pages follow each other under the same names.
                path[-1][1][f"page {index}"] = below
            if not value:
                path.append((depth, below))
    ended(part, tree, reading)
    if not reading.results:
        reading.unknown("amd.ecc", "no GPU with a count", line=1)


def ended(part: str, tree: dict[str, Any], reading: Reading) -> None:
    if not part:
        return
    for name in PAGE_LISTS:
        if name in tree:
            pages = tree[name] if isinstance(tree[name], dict) else {}
            tree[name] = [page for key, page in pages.items() if key.startswith("page ")]
    of_gpu(part, tree, reading)


ROCM_GPU: Final = re.compile(r"GPU\[(\d{1,4})\]\s{0,12}:\s{0,12}(.{0,200})")
ROCM_BLOCK: Final = re.compile(
    r"\s{0,20}(?P<block>[A-Z][A-Z0-9_]{1,20})\s{1,24}(?P<state>ENABLED|DISABLED)\s{1,40}"
    r"(?P<correctable>\d{1,9})\s{1,40}(?P<uncorrectable>\d{1,9})\s*$"
)
ROCM_PAGE: Final = re.compile(r"\s{0,20}0x[0-9a-fA-F]{4,16}\s{1,40}\S{1,20}\s{1,40}([A-Z])\b")
ROCM_TITLE: Final = re.compile(r"=[^\n]{0,80}ROCm System Management Interface[^\n]{0,80}=")
ROCM_END: Final = re.compile(r"=[^\n]{0,80}End of ROCm SMI Log[^\n]{0,80}=")
ROCM_RAS: Final = re.compile(r"RAS I(?:nfo|NFO)|(?:RETIRED|PENDING|UNRESERVABLE) PAGE|Pages? Info")
ROCM_DRIVER: Final = re.compile(
    r"(?:ERROR:\S{0,20} ?|.{0,80})Driver not initialized \(amdgpu not found"
)
# Its library did not start: 4 is a missing permission, 8 any other reason.
ROCM_NO_START: Final = re.compile(
    r"(?:ERROR:\S{0,20} ?)ROCm SMI returned (\d{1,10}) \(the expected value is 0\)"
)
PAGE_STATES: Final = {"R": Outcome.WARN, "P": Outcome.WARN, "F": Outcome.FAIL}


def claimed_rocm(head: str) -> bool:
    if ROCM_DRIVER.search(head[:2000]) or ROCM_NO_START.search(head[:2000]):
        return True
    return ROCM_TITLE.search(head) is not None and ROCM_RAS.search(head) is not None


def read_rocm(text: str, reading: Reading) -> None:
    part = ""
    for index, line in lines_of(text):
        if (gpu := ROCM_GPU.match(line)) is not None:
            part = f"gpu {int(gpu[1])}"
            reading.saw(index)
        elif part and (block := ROCM_BLOCK.match(line)) is not None:
            reading.saw(index)
            bad = int(block["uncorrectable"])
            reading.add(
                f"amd.ecc_{block['block'].lower()}",
                Outcome.FAIL if bad else Outcome.PASS,
                part=part,
                detail=f"{bad} uncorrectable, {block['correctable']} correctable",
                category=BLOCKS.get(block["block"], Category.GPU_SRAM),
                line=index,
            )
        elif part and (page := ROCM_PAGE.match(line)) is not None:
            reading.saw(index)
            outcome = PAGE_STATES.get(page[1], Outcome.WARN)
            reading.add(
                "amd.pages", outcome, part=part, detail=line, category=Category.GPU_HBM, line=index
            )
        elif ROCM_DRIVER.match(line):
            reading.add(
                "amd.driver", Outcome.FAIL, detail=line, category=Category.DEPENDENCY, line=index
            )
        elif ROCM_NO_START.match(line):
            reading.unknown("amd.driver", line, line=index)
    if not reading.results:
        reading.unknown("amd.ecc", "no GPU with a count", line=1)


AMD_SMI_TEXT: Final = CheckFormat(
    "amd_smi_text",
    claimed,
    read,
    cut_as="amd.ecc",
    part=GPU,
    words=("ECC:", "ECC_BLOCKS:", "RETIRED:", "PENDING:", "UN_RES:"),
)
ROCM_SMI: Final = CheckFormat(
    "rocm_smi",
    claimed_rocm,
    read_rocm,
    cut_as="amd.ecc",
    ends=ROCM_END,
    words=("ROCm System", "Driver not init", "ROCm SMI returned"),
)
