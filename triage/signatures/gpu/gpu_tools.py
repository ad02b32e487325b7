"""Output of nvidia-smi and DCGM that somebody's script left in a job log.

A row of a report says a state, not an event: only rows that name a fault count,
and ``Not Active`` never does. A power cap is in force on many a busy GPU: weak.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Action, Category
from triage.domain.evidence import OWN_ACTION, Blame, Kind, Trait
from triage.signatures.family import Family
from triage.signatures.host.agent_words import gpu_fields, part_of_reason
from triage.signatures.signature import Reading, Scope

__all__ = ["SIGNATURES"]

SMI = "NVIDIA: nvidia-smi"
DCGM = "NVIDIA: DCGM, dcgmi diag and health"

REPORTED = (Trait.OF_A_REPORT,)
# `nvidia-smi -q | logger -t epilog`
PIPED = r"^(?:[\w.-]{1,40}(?:\[\d{1,9}\])?: )?"
# Where H100-class GPUs slow down by themselves.
HOT_CELSIUS = 90


def lost(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The lost GPU by its address, else its number or uuid: one GPU whichever is printed."""
    gpu, fields = gpu_fields(match.string[:1000])
    return Reading(gpu=gpu, fields=fields)


def hot(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """Only a temperature at which the GPU slows itself."""
    return Reading() if int(match["celsius"]) >= HOT_CELSIUS else None


def of_memory(match: re.Match[str], _: Sequence[str]) -> Reading:
    """The memory that a checker names."""
    if match["memory"].upper() == "SRAM":
        return Reading(category=Category.GPU_SRAM, also=(Category.GPU_HBM,))
    return Reading()


def counted(match: re.Match[str], after: Sequence[str]) -> Reading | None:
    """A counter of uncorrectable errors, by its memory; None at zero."""
    return None if int(match["errors"]) == 0 else of_memory(match, after)


RANK = re.compile(r"\brank[=: ]{1,2}(\d{1,7})", re.IGNORECASE)


def named_rank(text: str, at: int) -> Reading:
    """The rank that a report names, which is seldom the one that prints it."""
    match = RANK.search(text, at)
    return Reading(peer=None if match is None else f"rank {match[1]}")


DIAGNOSIS = {
    "memory": Category.GPU_HBM,
    "memory bandwidth": Category.GPU_HBM,
    "pcie": Category.IO_BOARD,
    "nvlink": Category.NVLINK,
    "nvbandwidth": Category.NVLINK,
    "targeted power": Category.POWER,
    "thermal": Category.GPU_THERMAL,
}


def diagnosis(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The part that a failed test of DCGM is about."""
    return Reading(category=DIAGNOSIS.get(match["test"].strip().lower()))


CELL = re.compile(r"\|\s{20,40}\|\s?(?P<words>\S.{0,120}?)\s{0,80}\|\s*$")
HEALTH_PARTS = {
    "memory": Category.GPU_HBM,
    "nvlink": Category.NVLINK,
    "nvswitch": Category.NVLINK,
    "pcie": Category.IO_BOARD,
    "pcie system": Category.IO_BOARD,
    "thermal": Category.GPU_THERMAL,
    "power": Category.POWER,
}


def unwell(match: re.Match[str], after: Sequence[str]) -> Reading | None:
    """The part of a GPU that DCGM's health watch complains of, in the words below its name."""
    cells = []
    for line in after:
        cell = CELL.match(line)
        if cell is None:
            break
        cells.append(cell["words"])
    words = "".join(cells)
    part = part_of_reason(words)
    category = HEALTH_PARTS.get(match["part"].lower(), Category.GPU)
    lost = re.search(r"fallen off|\blost\b", words, re.IGNORECASE) is not None
    if lost or part.category not in (None, Category.GPU):
        category = part.category or category
    return Reading(
        category=category,
        also=tuple(one for one in (*part.also, Category.GPU) if one is not category),
        gpu=part.gpu,
        fields=part.fields,
        weak=match["state"] == "Warning",
        traits=frozenset({Trait.OF_A_REPORT, *((Trait.GPU_LOST,) if lost else ())}),
    )


TOOLS = Family("gpu_tool", Kind.GPU, source=SMI)

TOOLS.noise(
    "smi_heading",
    PIPED + r"\s{0,4}GPU (?P<gpu>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2})\.\d\s*$",
    literals=("gpu 0000",),
    matches=("GPU 00000000:1B:00.0",),
    near_misses=("GPU 00000000:1B:00.0 is lost",),
    category=Category.NONE,
    each=True,
    traits=(Trait.HEADING,),
)
TOOLS.noise(
    "health_heading",
    PIPED + r"\s{0,4}\| (?:->|GPU ID:) (?P<gpu_index>\d{1,2})\s{1,40}\|",
    literals=("| -> ", "| gpu id: "),
    matches=(
        "| -> 2                      | Failure                                                  |",
    ),
    near_misses=(
        "|    -> Errors              |                                                          |",
    ),
    source=DCGM,
    category=Category.NONE,
    each=True,
    traits=(Trait.HEADING,),
)
TOOLS.root(
    "health_part",
    r"\|\s{3,12}-> (?P<part>[A-Z][\w ]{1,30}?)\s{1,40}\| (?P<state>Failure|Warning)\s{1,80}\|",
    literals=("| failure ", "| warning "),
    matches=(
        "|       -> Memory           | Failure                                                  |",
    ),
    near_misses=(
        "| -> 2                      | Failure                                                  |",
        "|       -> Memory           | Healthy                                                  |",
    ),
    source=DCGM,
    category=Category.GPU,
    context=8,
    each=True,
    traits=REPORTED,
    read=unwell,
)
TOOLS.root(
    "recovery_action",
    r"GPU Recovery Action\s{0,60}: (?P<action>(?:GPU |Node |Drain )[\w ]{0,30}|Reset|Reboot)\s*$",
    literals=("gpu recovery action",),
    matches=(
        "        GPU Recovery Action                   : Reset",
        "    GPU Recovery Action                       : Drain and Reset",
    ),
    near_misses=(
        "    GPU Recovery Action                       : None",
        "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
    ),
    category=Category.GPU,
    also=(
        Category.GPU_HBM,
        Category.GPU_SRAM,
        Category.NVLINK,
        Category.GPU_GSP,
        Category.IO_BOARD,
    ),
    each=True,
    traits=REPORTED,
)
TOOLS.root(
    "gpu_lost",
    r"Unable to determine the device handle for|GPU is lost|NVML_ERROR_GPU_IS_LOST"
    r"|fallen off the bus|GPU [0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.0 is lost",
    literals=(
        "unable to determine the device handle",
        "gpu is lost",
        "nvml_error_gpu_is_lost",
        "fallen off the bus",
        ".0 is lost",
    ),
    matches=(
        "Unable to determine the device handle for GPU 0000:03:00.0: GPU is lost.  Reboot the"
        " system to recover this GPU",
        "Unable to determine the device handle for GPU0000:9B:00.0: Unknown Error",
        "Unable to determine the device handle for GPU3: 0000:9B:00.0: GPU is lost.  Reboot the"
        " system to recover this GPU",
        "nvml: NVML_ERROR_GPU_IS_LOST",
        "ErrorCode:79 PCI:0000:6d:00 GPU has fallen off the bus Recommended Action=RESTART_BM;",
    ),
    near_misses=("no GPU was lost",),
    category=Category.GPU,
    also=(Category.IO_BOARD,),
    scope=Scope.ANY,
    traits=(Trait.GPU_LOST, Trait.OF_A_REPORT),
    read=lost,
)
TOOLS.root(
    "container_devices",
    r"Failed to initialize NVML: Unknown Error",
    literals=("failed to initialize nvml: unknown error",),
    matches=("Failed to initialize NVML: Unknown Error",),
    near_misses=("Failed to initialize NVML: Driver/library version mismatch",),
    category=Category.DEPENDENCY,
    also=(Category.IO_BOARD, Category.GPU),
    weak=True,
    # The container lost its devices, and a new one has them.
    read=lambda _match, _after: Reading(fields={OWN_ACTION: Action.RESTART_JOB}),
)
TOOLS.root(
    "no_devices",
    r"No devices were found",
    literals=("no devices were found",),
    matches=("No devices were found",),
    near_misses=("no device files were found",),
    category=Category.DEPENDENCY,
    also=(Category.IO_BOARD, Category.GPU),
    weak=True,
)
TOOLS.root(
    "power_brake",
    r"HW Power Brake Slowdown\s{0,60}: Active",
    literals=("power brake slowdown",),
    matches=("            HW Power Brake Slowdown           : Active",),
    near_misses=("            HW Power Brake Slowdown           : Not Active",),
    category=Category.POWER,
    also=(Category.GPU_THERMAL, Category.CHASSIS),
    each=True,
    traits=REPORTED,
)
TOOLS.root(
    "thermal_slowdown",
    r"(?:(?:HW|SW) Thermal Slowdown|HW Slowdown)\s{0,60}: Active",
    literals=("thermal slowdown", "hw slowdown"),
    matches=(
        "            HW Thermal Slowdown           : Active",
        "        HW Slowdown                       : Active",
    ),
    near_misses=("        HW Slowdown                       : Not Active",),
    category=Category.GPU_THERMAL,
    also=(Category.POWER,),
    each=True,
    traits=REPORTED,
)
TOOLS.root(
    "power_cap",
    r"SW Power Cap(?:ping)?\s{0,60}: Active",
    literals=("sw power cap",),
    matches=("        SW Power Cap                      : Active",),
    near_misses=("        SW Power Cap                      : Not Active",),
    category=Category.GPU_THERMAL,
    also=(Category.POWER,),
    weak=True,
    each=True,
    traits=REPORTED,
)
TOOLS.root(
    "temperature",
    r"(?:GPU|Memory) Current Temp\s{0,60}: (?P<celsius>\d{1,3}) C",
    literals=("gpu current temp", "memory current temp"),
    matches=("        GPU Current Temp                  : 97 C",),
    near_misses=("        GPU Current Temp                  : 61 C",),
    category=Category.GPU_THERMAL,
    weak=True,
    read=hot,
    each=True,
    traits=REPORTED,
)
TOOLS.root(
    "ecc_count",
    r"(?P<memory>DRAM|SRAM) Uncorrectable(?: Parity| SEC-DED)?\s{0,60}: (?P<errors>\d{1,12})",
    literals=("dram uncorrectable", "sram uncorrectable"),
    matches=(
        "            DRAM Uncorrectable                : 2",
        "            SRAM Uncorrectable Parity         : 1",
    ),
    near_misses=("            DRAM Uncorrectable                : 0",),
    category=Category.GPU_HBM,
    also=(Category.GPU_SRAM,),
    weak=True,
    read=counted,
    each=True,
    traits=REPORTED,
)
TOOLS.root(
    "checker_count",
    r"GPU (?P<memory>DRAM|SRAM) uncorrectable error for the (?:volatile|aggregate) counter for GPU"
    r" ID (?P<gpu_index>\d{1,2})",
    literals=("uncorrectable error for the",),
    matches=(
        "Warning: Detected a GPU SRAM uncorrectable error for the volatile counter for GPU ID 5,"
        " please offline this node (n8)",
    ),
    near_misses=("no GPU SRAM uncorrectable error was detected",),
    source="AzureHPC node health checks: azure_gpu_ecc.nhc",
    category=Category.GPU_HBM,
    also=(Category.GPU_SRAM,),
    read=of_memory,
    each=True,
    traits=REPORTED,
)
TOOLS.root(
    "row_remap",
    r"Remapping Failure Occurred\s{0,60}: Yes",
    literals=("remapping failure occurred",),
    matches=("        Remapping Failure Occurred        : Yes",),
    near_misses=("        Remapping Failure Occurred        : No",),
    category=Category.GPU_HBM,
    each=True,
    traits=REPORTED,
)
TOOLS.root(
    "nvlink_down",
    r"Link \d{1,2}: <inactive>|NVLink is down|nvlinks? (?:is|are) (?:currently )?down",
    literals=(": <inactive>", "nvlink is down"),
    matches=("\t Link 7: <inactive>",),
    near_misses=("\t Link 7: 26.562 GB/s",),
    category=Category.NVLINK,
    weak=True,
    each=True,
    traits=REPORTED,
)
TOOLS.root(
    "error_cell",
    r"\|(?:[^|\n]{0,80}\| {1,4}(?P<gpu>[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.0))?"
    r".{0,60}\bERR!",
    literals=("err!",),
    matches=(
        "| ERR!   ERR!  ERR!   ERR! / ERR! |  0MiB / 81559MiB |",
        "|   6  A100-SXM4-80GB      On  | 00000000:B7:00.0 Off |       ERR! |",
    ),
    near_misses=("err! the parser stopped",),
    category=Category.GPU,
    also=(Category.IO_BOARD, Category.POWER),
    weak=True,
    traits=(Trait.OF_A_REPORT,),
)
TOOLS.root(
    "error_count_cell",
    r"\| {1,4}(?P<gpu>[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.0) (?:Off| On) \|"
    r" {1,24}(?P<errors>[1-9]\d{0,11}) \|",
    literals=(".0 off |", ".0  on |"),
    matches=("|   1  Tesla V100S-PCI...  Off  | 00000000:00:08.0 Off |                    6 |",),
    near_misses=(
        "|   0  Tesla V100S-PCI...  Off  | 00000000:00:07.0 Off |                    0 |",
    ),
    source=f"{SMI}: Volatile Uncorr. ECC",
    category=Category.GPU_HBM,
    also=(Category.GPU_SRAM,),
    weak=True,
    each=True,
    traits=REPORTED,
)
TOOLS.root(
    "diagnosis",
    r"\|\s{1,8}(?P<test>[A-Za-z][\w /]{1,40}?)\s{1,60}\|\s{1,8}Fail\b(?:.{0,20}?GPUs?: ?"
    r"(?P<gpus>[\d, ]{1,40}))?",
    literals=("| fail ", "fail - gpu"),
    matches=(
        "|  Memory                   | Fail - GPU: 3                                  |",
        "|  PCIe                     | Fail                                           |",
    ),
    near_misses=("|  Memory                   | Pass - All                                     |",),
    source=DCGM,
    category=Category.GPU,
    read=diagnosis,
)
TOOLS.root(
    "throttled",
    r"(?P<thermal>thermal throttling (?:detected|is active|active on|on GPU)|thermally throttled"
    r"|throttl(?:ed|ing) due to (?:thermal|temperature|heat))"
    r"|throttl(?:ed|ing) due to (?:hw )?power[ _]brake",
    literals=("thermal throttling", "thermally throttled", "throttled due to", "throttling due to"),
    matches=(
        "WARNING thermal throttling detected on GPU 3",
        "GPU 2 clocks throttled due to power brake",
    ),
    near_misses=("thermal throttling: none", "throttled due to rate limits"),
    source="monitors beside a job",
    category=Category.GPU_THERMAL,
    also=(Category.POWER,),
    weak=True,
    read=lambda match, _after: (
        Reading()
        if match["thermal"]
        else Reading(category=Category.POWER, also=(Category.GPU_THERMAL,))
    ),
)
TOOLS.root(
    "straggler",
    r"[Ss]traggler detected|[Dd]etected straggler|STRAGGLER DETECTION WARNING",
    literals=("straggler detected", "detected straggler", "straggler detection warning"),
    matches=(
        "Straggler detected: rank 12",
        "STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks:"
        " Rank=12",
    ),
    near_misses=("no stragglers detected",),
    source="NVIDIA resiliency extension; NeMo",
    category=Category.STRAGGLER,
    also=(Category.GPU, Category.GPU_THERMAL),
    blame=Blame.PEER,
    weak=True,
    each=True,
    read=lambda match, _after: named_rank(match.string, match.end()),
)

SIGNATURES = TOOLS.signatures()
