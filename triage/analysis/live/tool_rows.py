"""What looks at communicators, transfers and GPUs hold, as rows of ``triage parse``.

One row a communicator, transfer or GPU, before any judgement. ``kind`` is the tool: ``ras``,
``inspector``, ``comm_state``, ``replay``, ``proxy_trace``, ``profiler``, ``gpu_state``.
"""

from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import Any, Final

from triage.domain.hardware import HardwareKind, part_identity
from triage.domain.live.communicator import Communicator, CommunicatorRank
from triage.domain.live.look import Look
from triage.domain.live.process import UNKNOWN_PROCESS, Process

__all__ = ["RowMaker", "communicator_rows", "gpu_rows", "waiting_rows"]

RowMaker = Callable[..., dict[str, Any]]
# Operations that are named in a row.
MAX_NAMES: Final = 6


def communicator_rows(look: Look, row: RowMaker) -> Iterator[dict[str, Any]]:
    """A row for each communicator: of the one rank that it tells of, else of all its ranks."""
    for one in look.communicators:
        alone = one.ranks[0] if len(one.ranks) == 1 and one.rest is None else None
        process = UNKNOWN_PROCESS if alone is None else alone.process
        yield row(
            look, str(look.tool), process, one.line if alone is None else alone.line or one.line,
            communicator_text(one, alone), communicator=f"{one.hash:x}", size=one.size,
        )  # fmt: skip


def communicator_text(one: Communicator, alone: CommunicatorRank | None) -> str:
    """``default_pg, rank 3 of 4: launched 43 all, completed 42 all``."""
    name = f"{one.name}, " if one.name else ""
    if alone is None:
        counted = [member.launched for member in one.ranks if member.launched]
        text = f"{name}{len(one.ranks)} of {one.size} ranks listed"
        return f"{text}, launched {spread_text(counted)}" if counted else text
    said = [f"launched {counts_text(alone.launched)}"] if alone.launched else []
    said += [f"completed {counts_text(alone.completed)}"] if alone.completed else []
    times = one.durations_us.get(alone.rank, ())
    if times:
        said.append(f"{len(times)} kernels of {one.function}, {median(times):.0f} us in the middle")
    return f"{name}rank {alone.rank} of {one.size}: {', '.join(said) or 'nothing counted'}"


def counts_text(counts: Mapping[str, int]) -> str:
    names = sorted(counts)[:MAX_NAMES]
    return " ".join(f"{counts[name]} {name}" for name in names)


def spread_text(counted: list[Mapping[str, int]]) -> str:
    """``88201 to 88202 allgather``: the fewest and the most of each operation."""
    names = sorted(set().union(*counted))[:MAX_NAMES]
    parts = []
    for name in names:
        numbers = [counts[name] for counts in counted if name in counts]
        least, most = min(numbers), max(numbers)
        parts.append(f"{least if least == most else f'{least} to {most}'} {name}")
    return ", ".join(parts)


def waiting_rows(look: Look, row: RowMaker) -> Iterator[dict[str, Any]]:
    """A row for each transfer in flight."""
    for one in look.waiting:
        peer = "" if one.peer is None else f", rank {one.peer}"
        text = f"rank {one.rank} waits for {one.reason}{peer}: {one.operation}"
        yield row(
            look, str(look.tool), one.process, one.line, text,
            communicator=f"{one.hash:x}", waits_for=str(one.reason), peer=one.peer,
        )  # fmt: skip


def gpu_rows(look: Look, row: RowMaker) -> Iterator[dict[str, Any]]:
    """A row for each sample of a GPU."""
    for one in look.gpus:
        shown = {
            "utilisation_percent": one.utilisation_percent,
            "memory_percent": one.memory_percent,
            "power_w": one.power_w,
            "power_limit_w": one.power_limit_w,
        }
        name = one.bus_id or one.uuid if one.index is None else f"{one.index}"
        text = f"GPU {name}: " + ", ".join(
            f"{key} {value:g}" for key, value in shown.items() if value is not None
        )
        made = row(look, str(look.tool), Process(node=one.node), one.line, text, **shown)
        slot = one.bus_id or ("" if one.index is None else f"{one.index}")
        yield {**made, "gpu": one.bus_id, **parts_of_row(one.uuid or "", slot)}


def parts_of_row(uuid: str, slot: str) -> dict[str, Any]:
    """``parts`` of a row where its GPU is named by UUID."""
    part = part_identity(HardwareKind.GPU, uuid, slot)
    if part is None:
        return {}
    return {"parts": [{"kind": str(part.kind), "identity": part.identity, "slot": part.slot}]}
