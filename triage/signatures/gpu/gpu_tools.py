"""Output of nvidia-smi and DCGM that somebody's script left in a job log.

A row of a report says a state, not an event: only rows that name a fault count,
and ``Not Active`` never does. A power cap is in force on many a busy GPU: weak.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind, Trait
from triage.signatures.host.agent_words import gpu_fields, part_of_reason
from triage.signatures.job_line import NOISE, ROOT, Family
from triage.signatures.signature import Reading, Scope

__all__ = ["SIGNATURES"]

TOOLS = Family("gpu_tool", Kind.GPU)
SMI = "NVIDIA: nvidia-smi"
DCGM = "NVIDIA: DCGM, dcgmi diag and health"
LOST = Category.IO_BOARD
THERMAL = Category.GPU_THERMAL

REPORTED = (Trait.OF_A_REPORT,)
# `nvidia-smi -q | logger -t epilog`
PIPED = r"^(?:[\w.-]{1,40}(?:\[\d{1,9}\])?: )?"
# Where H100-class GPUs slow down by themselves.
HOT_CELSIUS = 90


def lost(found: re.Match[str], _after: Sequence[str]) -> Reading:
    """The lost GPU by its address, else its number or uuid: one GPU whichever is printed."""
    gpu, fields = gpu_fields(found.string[:1000])
    return Reading(gpu=gpu, fields=fields)


def hot(found: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """Only a temperature at which the GPU slows itself."""
    return Reading() if int(found["celsius"]) >= HOT_CELSIUS else None


def of_memory(found: re.Match[str], _: Sequence[str]) -> Reading:
    """The memory that a checker names."""
    if found["memory"].upper() == "SRAM":
        return Reading(category=Category.GPU_SRAM, also=(Category.GPU_HBM,))
    return Reading()


def counted(found: re.Match[str], after: Sequence[str]) -> Reading | None:
    """A counter of uncorrectable errors, by its memory; None at zero."""
    return None if int(found["errors"]) == 0 else of_memory(found, after)


RANK = re.compile(r"\brank[=: ]{1,2}(\d{1,7})", re.IGNORECASE)


def named_rank(text: str, at: int) -> Reading:
    """The rank that a report names, which is seldom the one that prints it."""
    found = RANK.search(text, at)
    return Reading(peer=None if found is None else f"rank {found[1]}")


DIAGNOSIS = {
    "memory": Category.GPU_HBM,
    "memory bandwidth": Category.GPU_HBM,
    "pcie": Category.IO_BOARD,
    "nvlink": Category.NVLINK,
    "nvbandwidth": Category.NVLINK,
    "targeted power": Category.POWER,
    "thermal": THERMAL,
}


def diagnosis(found: re.Match[str], _after: Sequence[str]) -> Reading:
    """The part that a failed test of DCGM is about."""
    return Reading(category=DIAGNOSIS.get(found["test"].strip().lower()))


CELL = re.compile(r"\|\s{20,40}\|\s?(?P<words>\S.{0,120}?)\s{0,80}\|\s*$")
HEALTH_PARTS = {
    "memory": Category.GPU_HBM,
    "nvlink": Category.NVLINK,
    "nvswitch": Category.NVLINK,
    "pcie": LOST,
    "pcie system": LOST,
    "thermal": THERMAL,
    "power": Category.POWER,
}


def unwell(found: re.Match[str], after: Sequence[str]) -> Reading | None:
    """The part of a GPU that DCGM's health watch complains of, in the words below its name."""
    cells = []
    for line in after:
        cell = CELL.match(line)
        if cell is None:
            break
        cells.append(cell["words"])
    words = "".join(cells)
    part = part_of_reason(words)
    category = HEALTH_PARTS.get(found["part"].lower(), Category.GPU)
    lost = re.search(r"fallen off|\blost\b", words, re.IGNORECASE) is not None
    if lost or part.category not in (None, Category.GPU):
        category = part.category or category
    return Reading(
        category=category,
        also=tuple(one for one in (*part.also, Category.GPU) if one is not category),
        gpu=part.gpu,
        fields=part.fields,
        weak=found["state"] == "Warning",
        traits=frozenset({Trait.OF_A_REPORT, *((Trait.GPU_LOST,) if lost else ())}),
    )


TOOLS.add(
    "smi_heading",
    NOISE,
    ("gpu 0000",),
    PIPED + r"\s{0,4}GPU (?P<gpu>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2})\.\d\s*$",
    ("GPU 00000000:1B:00.0",),
    ("GPU 00000000:1B:00.0 is lost",),
    SMI,
    category=Category.NONE,
    each=True,
    traits=(Trait.HEADING,),
)
TOOLS.add(
    "health_heading",
    NOISE,
    ("| -> ", "| gpu id: "),
    PIPED + r"\s{0,4}\| (?:->|GPU ID:) (?P<gpu_index>\d{1,2})\s{1,40}\|",
    ("| -> 2                      | Failure                                                  |",),
    ("|    -> Errors              |                                                          |",),
    DCGM,
    category=Category.NONE,
    each=True,
    traits=(Trait.HEADING,),
)
TOOLS.add(
    "health_part",
    ROOT,
    ("| failure ", "| warning "),
    r"\|\s{3,12}-> (?P<part>[A-Z][\w ]{1,30}?)\s{1,40}\| (?P<state>Failure|Warning)\s{1,80}\|",
    ("|       -> Memory           | Failure                                                  |",),
    (
        "| -> 2                      | Failure                                                  |",
        "|       -> Memory           | Healthy                                                  |",
    ),
    DCGM,
    category=Category.GPU,
    context=8,
    each=True,
    traits=REPORTED,
    read=unwell,
)
TOOLS.add(
    "recovery_action",
    ROOT,
    ("gpu recovery action",),
    r"GPU Recovery Action\s{0,60}: (?P<action>(?:GPU |Node |Drain )[\w ]{0,30}|Reset|Reboot)\s*$",
    (
        "        GPU Recovery Action                   : Reset",
        "    GPU Recovery Action                       : Drain and Reset",
    ),
    (
        "    GPU Recovery Action                       : None",
        "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
    ),
    SMI,
    category=Category.GPU,
    also=(Category.GPU_HBM, Category.GPU_SRAM, Category.NVLINK, Category.GPU_GSP, LOST),
    each=True,
    traits=REPORTED,
)
TOOLS.add(
    "gpu_lost",
    ROOT,
    (
        "unable to determine the device handle",
        "gpu is lost",
        "nvml_error_gpu_is_lost",
        "fallen off the bus",
        ".0 is lost",
    ),
    r"Unable to determine the device handle for|GPU is lost|NVML_ERROR_GPU_IS_LOST"
    r"|fallen off the bus|GPU [0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.0 is lost",
    (
        "Unable to determine the device handle for GPU 0000:03:00.0: GPU is lost.  Reboot the"
        " system to recover this GPU",
        "Unable to determine the device handle for GPU0000:9B:00.0: Unknown Error",
        "Unable to determine the device handle for GPU3: 0000:9B:00.0: GPU is lost.  Reboot the"
        " system to recover this GPU",
        "nvml: NVML_ERROR_GPU_IS_LOST",
        "ErrorCode:79 PCI:0000:6d:00 GPU has fallen off the bus Recommended Action=RESTART_BM;",
    ),
    ("no GPU was lost",),
    SMI,
    category=Category.GPU,
    also=(LOST,),
    scope=Scope.ANY,
    traits=(Trait.GPU_LOST, Trait.OF_A_REPORT),
    read=lost,
)
TOOLS.add(
    "no_devices",
    ROOT,
    ("no devices were found", "failed to initialize nvml: unknown error"),
    r"No devices were found|Failed to initialize NVML: Unknown Error",
    ("No devices were found", "Failed to initialize NVML: Unknown Error"),
    ("no device files were found",),
    SMI,
    category=Category.DEPENDENCY,
    also=(LOST, Category.GPU),
    weak=True,
)
TOOLS.add(
    "power_brake",
    ROOT,
    ("power brake slowdown",),
    r"HW Power Brake Slowdown\s{0,60}: Active",
    ("            HW Power Brake Slowdown           : Active",),
    ("            HW Power Brake Slowdown           : Not Active",),
    SMI,
    category=Category.POWER,
    also=(THERMAL, Category.CHASSIS),
    each=True,
    traits=REPORTED,
)
TOOLS.add(
    "thermal_slowdown",
    ROOT,
    ("thermal slowdown", "hw slowdown"),
    r"(?:(?:HW|SW) Thermal Slowdown|HW Slowdown)\s{0,60}: Active",
    (
        "            HW Thermal Slowdown           : Active",
        "        HW Slowdown                       : Active",
    ),
    ("        HW Slowdown                       : Not Active",),
    SMI,
    category=THERMAL,
    also=(Category.POWER,),
    each=True,
    traits=REPORTED,
)
TOOLS.add(
    "power_cap",
    ROOT,
    ("sw power cap",),
    r"SW Power Cap(?:ping)?\s{0,60}: Active",
    ("        SW Power Cap                      : Active",),
    ("        SW Power Cap                      : Not Active",),
    SMI,
    category=THERMAL,
    also=(Category.POWER,),
    weak=True,
    each=True,
    traits=REPORTED,
)
TOOLS.add(
    "temperature",
    ROOT,
    ("gpu current temp", "memory current temp"),
    r"(?:GPU|Memory) Current Temp\s{0,60}: (?P<celsius>\d{1,3}) C",
    ("        GPU Current Temp                  : 97 C",),
    ("        GPU Current Temp                  : 61 C",),
    SMI,
    category=THERMAL,
    weak=True,
    read=hot,
    each=True,
    traits=REPORTED,
)
TOOLS.add(
    "ecc_count",
    ROOT,
    ("dram uncorrectable", "sram uncorrectable"),
    r"(?P<memory>DRAM|SRAM) Uncorrectable(?: Parity| SEC-DED)?\s{0,60}: (?P<errors>\d{1,12})",
    (
        "            DRAM Uncorrectable                : 2",
        "            SRAM Uncorrectable Parity         : 1",
    ),
    ("            DRAM Uncorrectable                : 0",),
    SMI,
    category=Category.GPU_HBM,
    also=(Category.GPU_SRAM,),
    weak=True,
    read=counted,
    each=True,
    traits=REPORTED,
)
TOOLS.add(
    "checker_count",
    ROOT,
    ("uncorrectable error for the",),
    r"GPU (?P<memory>DRAM|SRAM) uncorrectable error for the (?:volatile|aggregate) counter for GPU"
    r" ID (?P<gpu_index>\d{1,2})",
    (
        "Warning: Detected a GPU SRAM uncorrectable error for the volatile counter for GPU ID 5,"
        " please offline this node (n8)",
    ),
    ("no GPU SRAM uncorrectable error was detected",),
    "AzureHPC node health checks: azure_gpu_ecc.nhc",
    category=Category.GPU_HBM,
    also=(Category.GPU_SRAM,),
    read=of_memory,
    each=True,
    traits=REPORTED,
)
TOOLS.add(
    "row_remap",
    ROOT,
    ("remapping failure occurred",),
    r"Remapping Failure Occurred\s{0,60}: Yes",
    ("        Remapping Failure Occurred        : Yes",),
    ("        Remapping Failure Occurred        : No",),
    SMI,
    category=Category.GPU_HBM,
    each=True,
    traits=REPORTED,
)
TOOLS.add(
    "nvlink_down",
    ROOT,
    (": <inactive>", "nvlink is down"),
    r"Link \d{1,2}: <inactive>|NVLink is down|nvlinks? (?:is|are) (?:currently )?down",
    ("\t Link 7: <inactive>",),
    ("\t Link 7: 26.562 GB/s",),
    SMI,
    category=Category.NVLINK,
    weak=True,
    each=True,
    traits=REPORTED,
)
TOOLS.add(
    "error_cell",
    ROOT,
    ("err!",),
    r"\|(?:[^|\n]{0,80}\| {1,4}(?P<gpu>[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.0))?"
    r".{0,60}\bERR!",
    (
        "| ERR!   ERR!  ERR!   ERR! / ERR! |  0MiB / 81559MiB |",
        "|   6  A100-SXM4-80GB      On  | 00000000:B7:00.0 Off |       ERR! |",
    ),
    ("err! the parser stopped",),
    SMI,
    category=Category.GPU,
    also=(LOST, Category.POWER),
    weak=True,
    traits=(Trait.OF_A_REPORT,),
)
TOOLS.add(
    "error_count_cell",
    ROOT,
    (".0 off |", ".0  on |"),
    r"\| {1,4}(?P<gpu>[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.0) (?:Off| On) \|"
    r" {1,24}(?P<errors>[1-9]\d{0,11}) \|",
    ("|   1  Tesla V100S-PCI...  Off  | 00000000:00:08.0 Off |                    6 |",),
    ("|   0  Tesla V100S-PCI...  Off  | 00000000:00:07.0 Off |                    0 |",),
    f"{SMI}: Volatile Uncorr. ECC",
    category=Category.GPU_HBM,
    also=(Category.GPU_SRAM,),
    weak=True,
    each=True,
    traits=REPORTED,
)
TOOLS.add(
    "diagnosis",
    ROOT,
    ("| fail ", "fail - gpu"),
    r"\|\s{1,8}(?P<test>[A-Za-z][\w /]{1,40}?)\s{1,60}\|\s{1,8}Fail\b(?:.{0,20}?GPUs?: ?"
    r"(?P<gpus>[\d, ]{1,40}))?",
    (
        "|  Memory                   | Fail - GPU: 3                                  |",
        "|  PCIe                     | Fail                                           |",
    ),
    ("|  Memory                   | Pass - All                                     |",),
    DCGM,
    category=Category.GPU,
    read=diagnosis,
)
TOOLS.add(
    "throttled",
    ROOT,
    ("thermal throttling", "thermally throttled", "throttled due to", "throttling due to"),
    r"(?P<thermal>thermal throttling (?:detected|is active|active on|on GPU)|thermally throttled"
    r"|throttl(?:ed|ing) due to (?:thermal|temperature|heat))"
    r"|throttl(?:ed|ing) due to (?:hw )?power[ _]brake",
    (
        "WARNING thermal throttling detected on GPU 3",
        "GPU 2 clocks throttled due to power brake",
    ),
    ("thermal throttling: none", "throttled due to rate limits"),
    "monitors beside a job",
    category=THERMAL,
    also=(Category.POWER,),
    weak=True,
    read=lambda found, _after: (
        Reading() if found["thermal"] else Reading(category=Category.POWER, also=(THERMAL,))
    ),
)
TOOLS.add(
    "straggler",
    ROOT,
    ("straggler detected", "detected straggler", "straggler detection warning"),
    r"[Ss]traggler detected|[Dd]etected straggler|STRAGGLER DETECTION WARNING",
    (
        "Straggler detected: rank 12",
        "STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks:"
        " Rank=12",
    ),
    ("no stragglers detected",),
    "NVIDIA resiliency extension; NeMo",
    category=Category.STRAGGLER,
    also=(Category.GPU, THERMAL),
    blame=Blame.PEER,
    weak=True,
    each=True,
    read=lambda found, _after: named_rank(found.string, found.end()),
)

SIGNATURES = TOOLS.signatures()
