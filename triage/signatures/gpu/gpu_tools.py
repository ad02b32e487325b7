"""Output of nvidia-smi and DCGM that somebody's script left in a job log.

A row of a report says a state, not an event: only rows that name a fault count,
and ``Not Active`` never does. A power cap is in force on many a busy GPU: weak.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Action, Category
from triage.domain.evidence import OWN_ACTION, Trait
from triage.domain.patterns import compile_re
from triage.signatures.host.agent_words import find_gpu_fields, find_part
from triage.signatures.load import load
from triage.signatures.signature import Reading

# Where H100-class GPUs slow down by themselves.
_HOT_CELSIUS = 90


def lost(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The lost GPU by its address, else its number or uuid: one GPU whichever is printed."""
    gpu, fields = find_gpu_fields(match.string[:1000])
    return Reading(gpu=gpu, fields=fields)


def hot(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """Only a temperature at which the GPU slows itself."""
    return Reading() if int(match["celsius"]) >= _HOT_CELSIUS else None


def of_memory(match: re.Match[str], _: Sequence[str]) -> Reading:
    """The memory that a checker names."""
    if match["memory"].upper() == "SRAM":
        return Reading(category=Category.GPU_SRAM, also=(Category.GPU_HBM,))
    return Reading()


def counted(match: re.Match[str], after: Sequence[str]) -> Reading | None:
    """A counter of uncorrectable errors, by its memory; None at zero."""
    return None if int(match["errors"]) == 0 else of_memory(match, after)


_RANK = compile_re(r"\brank[=: ]{1,2}(\d{1,7})", re.IGNORECASE)


def _read_reported_rank(text: str, at: int) -> Reading:
    """The rank that a report names, which is seldom the one that prints it."""
    match = _RANK.search(text, at)
    return Reading(peer=None if match is None else f"rank {match[1]}")


_DIAGNOSIS = {
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
    return Reading(category=_DIAGNOSIS.get(match["test"].strip().lower()))


_CELL = compile_re(r"\|\s{20,40}\|\s?(?P<words>\S.{0,120}?)\s{0,80}\|\s*$")
_HEALTH_PARTS = {
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
        cell = _CELL.match(line)
        if cell is None:
            break
        cells.append(cell["words"])
    words = "".join(cells)
    part = find_part(words)
    category = _HEALTH_PARTS.get(match["part"].lower(), Category.GPU)
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


SIGNATURES = load(
    __name__,
    container_devices=lambda _match, _after: Reading(fields={OWN_ACTION: Action.RESTART_JOB}),
    throttled=lambda match, _after: (
        Reading()
        if match["thermal"]
        else Reading(category=Category.POWER, also=(Category.GPU_THERMAL,))
    ),
    straggler=lambda match, _after: _read_reported_rank(match.string, match.end()),
)
