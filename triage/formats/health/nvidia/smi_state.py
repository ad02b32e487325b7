"""What nvidia-smi prints without ``-q``: its table, CSV of a query, and why it could not look.

::

    | GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |
    |   3  NVIDIA H100 80GB HBM3          On  | 00000000:5D:00.0 Off |                    2 |
    | N/A   41C    P0             ERR! / 700W |  65000MiB / 81559MiB |      0%      Default |

    pci.bus_id, ecc.errors.uncorrected.volatile.total, remapped_rows.failure
    00000000:5D:00.0, 2, 0

    Unable to determine the device handle for GPU0000:5D:00.0: GPU is lost. Reboot the system ...
    NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. ...

In an incident's folder tables are read for their load, too. A driver that is not there, or another
one than its library, is nothing of a GPU.
"""

import csv
import re
from collections.abc import Callable, Mapping
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.nvidia.gpu_state import GpuState, judge
from triage.formats.health.nvidia.smi_text import number, yes
from triage.formats.health.reading import Reading, lines_of
from triage.signatures.pci import bus_id

__all__ = ["SMI_CSV", "SMI_FAILURE", "SMI_TABLE_STATE"]

BOX: Final = re.compile(r"\| NVIDIA-SMI \d{2,4}\.\d")
# "|   3  NVIDIA H100 80GB HBM3          On  | 00000000:5D:00.0 Off |                    2 |"
GPU: Final = re.compile(
    r"\|\s{1,6}(?P<index>\d{1,3})\s[^|]{1,100}\|\s{0,20}(?P<address>[0-9A-Fa-f:]{7,20}\.[0-7])\s"
    r"[^|]{1,40}\|\s{0,30}(?P<ecc>\d{1,10}|N/A|Off|ERR!)\s{0,4}\|"
)
BEHIND: Final = re.compile(r"\|[^|]{1,60}\|[^|]{1,60}\|[^|]{1,60}\|")
ERROR: Final = "ERR!"
# "Unable to determine the device handle for GPU0: 0000:01:00.0: Unknown Error"
LOST: Final = re.compile(
    r"Unable to determine the device handle for (?:gpu |GPU ?)(?:(?P<index>\d{1,3}): ?)?"
    r"(?P<address>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-7])?)?(?P<said>[^\n]{0,200})"
)
FAILURES: Final = (
    (re.compile(r"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver"),
     Outcome.FAIL, Category.DEPENDENCY),
    (re.compile(r"Failed to initialize NVML: (?:Driver/library version mismatch"
                r"|Driver Not Loaded|DRIVER_NOT_LOADED)"), Outcome.FAIL, Category.DEPENDENCY),
    (re.compile(r"Failed to initialize NVML: (?:GPU is lost|Unknown Error)"), Outcome.FAIL, None),
    (re.compile(r"Failed to initialize NVML: "), Outcome.SKIPPED, None),
    (re.compile(r"No devices were found\s*$"), Outcome.FAIL, Category.GPU),
    (re.compile(r"(?:\S{0,80}: (?:line \d{1,4}: )?)?nvidia-smi: (?:command )?not found\s*$"),
     Outcome.SKIPPED, None),
)  # fmt: skip
FIRST_LINES: Final = 12
Read = Callable[[str], object]


def failure_in(line: str) -> tuple[Outcome, Category | None] | None:
    for pattern, outcome, category in FAILURES:
        if pattern.match(line):
            return outcome, category
    return None


def claimed_failure(head: str) -> bool:
    """One of the messages stands first: in a job's log others stand before it."""
    first = next((line for line in head.lstrip("\ufeff").split("\n") if line.strip()), "")
    return failure_in(first) is not None or LOST.match(first) is not None


def claimed_table(head: str) -> bool:
    lines = head.split("\n")[:FIRST_LINES]
    return any(BOX.match(line) for line in lines)


def read(text: str, reading: Reading) -> None:
    """The table and the messages around it."""
    errors: set[str] = set()
    part, begun, ended = "", 0, False
    for index, line in lines_of(text):
        if BOX.match(line):
            begun, ended = index, False
        if (lost := LOST.match(line)) is not None:
            of_lost(lost, index, reading)
        elif (failure := failure_in(line)) is not None:
            outcome, category = failure
            reading.saw(index)
            if outcome is Outcome.SKIPPED:
                reading.unknown("gpu.present", line.strip(), line=index)
            else:
                reading.add(
                    "gpu.present", outcome, detail=line.strip(), category=category, line=index
                )
        elif (gpu := GPU.match(line)) is not None:
            part = bus_id(gpu["address"]) or f"gpu {gpu['index']}"
            reading.saw(index)
            of_gpu(part, gpu["ecc"], index, reading)
            if ERROR in line:
                errors.add(part)
        elif part and BEHIND.match(line):
            if ERROR in line and part not in errors:
                errors.add(part)
                said = "a sensor of the GPU answers with an error"
                reading.add(
                    "gpu.sensors", Outcome.FAIL, part=part, detail=said,
                    category=Category.GPU, line=index,
                )  # fmt: skip
        elif line.startswith("+-") and part:
            ended = True
    if begun and (not ended or not part):
        reading.unknown("gpu.present", "the table breaks off, or holds no GPU", line=begun)


def of_lost(lost: re.Match[str], line: int, reading: Reading) -> None:
    part = bus_id(lost["address"]) if lost["address"] else None
    if part is None and lost["index"]:
        part = f"gpu {int(lost['index'])}"
    if part is None and (bare := re.match(r"\s?(\d{1,3})\b", lost["said"])) is not None:
        part = f"gpu {int(bare[1])}"
    reading.saw(line)
    reading.add(
        "gpu.present", Outcome.FAIL, part=part, detail=lost[0], category=Category.GPU, line=line
    )


def of_gpu(part: str, ecc: str, line: int, reading: Reading) -> None:
    """The column of uncorrectable errors since the driver was loaded."""
    if ecc.isdigit():
        said = f"uncorrectable since the driver was loaded: {int(ecc)}"
        outcome = Outcome.FAIL if int(ecc) else Outcome.PASS
        reading.add(
            "gpu.ecc", outcome, part=part, detail=said, category=Category.GPU_HBM, line=line
        )
    elif ecc == ERROR:
        said = "the GPU does not answer"
        reading.add(
            "gpu.ecc", Outcome.FAIL, part=part, detail=said, category=Category.GPU, line=line
        )
    else:
        reading.add("gpu.present", Outcome.PASS, part=part, detail=f"ECC: {ecc}", line=line)


def flag(text: str) -> bool | None:
    """``Yes``, or the count that newer drivers print."""
    count = number(text)
    return yes(text) if count is None else count > 0


# Columns of ``nvidia-smi --query-gpu`` by what a GPU's state calls them.
COLUMNS: Final[Mapping[str, tuple[str, Read]]] = {
    "ecc.errors.uncorrected.volatile.dram": ("dram_uncorrected", number),
    "ecc.errors.uncorrected.volatile.device_memory": ("dram_uncorrected", number),
    "ecc.errors.uncorrected.volatile.total": ("dram_uncorrected", number),
    "ecc.errors.uncorrected.volatile.sram": ("sram_uncorrected", number),
    "ecc.errors.uncorrected.aggregate.total": ("dram_uncorrected_ever", number),
    "ecc.errors.uncorrected.aggregate.dram": ("dram_uncorrected_ever", number),
    "ecc.errors.uncorrected.aggregate.sram": ("sram_uncorrected_ever", number),
    "remapped_rows.uncorrectable": ("remapped_uncorrected", number),
    "remapped_rows.pending": ("remap_pending", flag),
    "remapped_rows.failure": ("remap_failed", flag),
    "retired_pages.pending": ("retirement_pending", yes),
    "retired_pages.double_bit.count": ("retired_double", number),
    "pcie.link.width.current": ("link_width", number),
    "pcie.link.width.max": ("link_width_max", number),
    "pcie.link.gen.current": ("link_gen", number),
    "pcie.link.gen.max": ("link_gen_max", number),
    "pstate": ("performance_state", lambda text: text.strip()),
    "gpu_recovery_action": ("recovery_action", lambda text: text.strip()),
}
STATES: Final = frozenset({"pstate", "pcie.link.gen.current", "pcie.link.gen.max"})
# "clocks_event_reasons.hw_thermal_slowdown", before: "clocks_throttle_reasons...."
REASON: Final = re.compile(r"clocks_(?:event|throttle)_reasons\.(hw_\w{4,40}|sw_thermal_slowdown)$")
UNIT: Final = re.compile(r" \[[^\]]{1,12}\]$")
LEAST_CELLS: Final = 2


def columns_of(line: str) -> list[str]:
    """The cells of a row; none where it is no row, as with a carriage return inside."""
    try:
        cells = next(csv.reader([line.lstrip("\ufeff")], skipinitialspace=True), [])
    except csv.Error:
        return []
    return [UNIT.sub("", cell.strip()) for cell in cells]


def claimed_csv(head: str) -> bool:
    first = next((line for line in head.split("\n") if line.strip()), "")[:4000]
    if first.count(",") < LEAST_CELLS - 1:
        return False
    names = set(columns_of(first))
    return bool((names & COLUMNS.keys()) - STATES) or any(map(REASON.match, names))


def read_csv(text: str, reading: Reading) -> None:
    names: list[str] = []
    for index, line in lines_of(text, 4000):
        if not line.strip():
            continue
        cells = columns_of(line)
        if set(cells) & COLUMNS.keys() or any(map(REASON.match, cells)):
            names = cells
        elif len(cells) == len(names):
            judge(state_of(dict(zip(names, cells, strict=True)), index), reading)
        else:
            reading.skip(index, "not as many values as columns")
    if not reading.results:
        reading.unknown("gpu.present", "no GPU is listed", line=1)


def state_of(row: Mapping[str, str], line: int) -> GpuState:
    address = row.get("pci.bus_id") or row.get("gpu_bus_id") or ""
    part = bus_id(address) if address else None
    part = part or row.get("uuid") or row.get("gpu_uuid") or f"gpu {row.get('index', '0')}"
    state = GpuState(part, line)
    for name, text in row.items():
        if name in COLUMNS:
            field, read_value = COLUMNS[name]
            value = read_value(text)
            if value is not None:
                setattr(state, field, value)
    reasons = {found[1]: row[name] for name in row if (found := REASON.match(name))}
    if reasons:
        active = [reason for reason, text in reasons.items() if yes(text)]
        state.throttled = tuple(reason.replace("_", " ") for reason in active)
    return state


SMI_FAILURE: Final = CheckFormat("nvidia_smi_failure", claimed_failure, read)
SMI_TABLE_STATE: Final = CheckFormat(
    "nvidia_smi_state", claimed_table, read, report=False, words=("| NVIDIA-SMI ",)
)
SMI_CSV: Final = CheckFormat("nvidia_smi_csv", claimed_csv, read_csv)
