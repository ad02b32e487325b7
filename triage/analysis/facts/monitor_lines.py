"""Monitors' lines in logs, held against those of the other GPUs of the job.

One line says that a GPU is slowed down for heat. What it is worth shows beside its peers:
where a quarter of the job's GPUs say the same, the reason lies outside of them; one that runs
as fast as they do slowed nobody down; one that is far hotter and slower than all others is a
suspect though nobody says why.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from triage.analysis.telemetry.throttle import (
    HOT_C,
    HOTTER_C,
    MIN_GPUS,
    MOST_SHARE,
    SLOW,
    SLOWED,
)
from triage.domain.category import Category
from triage.domain.evidence import Evidence, EvidenceRole

__all__ = ["held_against_peers"]

FAMILY: Final = "gpu_monitor"
SAYS_WHY: Final = "gpu_monitor.slowed"
SAYS_HOT: Final = "gpu_monitor.hot"


@dataclass(frozen=True, slots=True)
class Peers:
    """What the GPUs that nothing slows down do: medians, None where too few are known."""

    temp_c: float | None
    clock_mhz: float | None


def held_against_peers(rows: Sequence[Evidence]) -> list[Evidence]:
    """``rows``, with those of monitors judged beside each other; all others as they are."""
    monitored = [row for row in rows if row.family == FAMILY and row.node is not None]
    slowed = {gpu_of(row): row for row in monitored if row.signature == SAYS_WHY}
    hot = {gpu_of(row) for row in monitored if row.signature == SAYS_HOT}
    if not slowed and not hot:
        return list(rows)
    gpus = {gpu_of(row) for row in monitored}
    nodes = {row.node for row in slowed.values()}
    everywhere = (
        len(gpus) >= MIN_GPUS and len(slowed) > max(1, MOST_SHARE * len(gpus)) and len(nodes) > 1
    )
    calm = [row for row in monitored if gpu_of(row) not in slowed and gpu_of(row) not in hot]
    peers = Peers(usual(calm, "temperature_c"), usual(calm, "clock_mhz"))
    return [
        judged(row, peers, everywhere=everywhere)
        if row.signature in (SAYS_WHY, SAYS_HOT) and row.node is not None
        else row
        for row in rows
    ]


def gpu_of(row: Evidence) -> Hashable:
    """Which GPU a row is of: by its rank where that is known, for tools name it differently."""
    if row.rank is not None:
        return row.node, "rank", row.rank
    return row.node, row.gpu, row.cuda_device if row.gpu is None else None


def usual(rows: Sequence[Evidence], name: str) -> float | None:
    """The median over GPUs of a quantity; None where fewer than five are known."""
    by_gpu: dict[Hashable, float] = {}
    for row in rows:
        value = measured(row, name)
        if value is not None:
            by_gpu.setdefault(gpu_of(row), value)
    return median(by_gpu.values()) if len(by_gpu) >= MIN_GPUS - 1 else None


def measured(row: Evidence, name: str) -> float | None:
    text = row.fields.get(name)
    return None if text is None else float(text)


def judged(row: Evidence, peers: Peers, *, everywhere: bool) -> Evidence:
    """One GPU's row: as it stands, or a mere notice, or a suspect though nothing says why."""
    temp, clock = measured(row, "temperature_c"), measured(row, "clock_mhz")
    hotter = (
        temp is not None
        and peers.temp_c is not None
        and temp >= max(HOT_C, peers.temp_c + HOTTER_C)
    )
    slower = None
    if clock is not None and peers.clock_mhz is not None:
        slower = clock / peers.clock_mhz
    fields = {**row.fields, **beside(peers)}
    if row.signature == SAYS_HOT:
        if hotter and slower is not None and slower < SLOW and not everywhere:
            return replace(row, role=EvidenceRole.ROOT, weak=True, fields=fields)
        return row
    heat = row.category is Category.GPU_THERMAL
    if everywhere or (heat and slower is not None and slower >= SLOWED and not hotter):
        return replace(row, role=EvidenceRole.ADVICE, weak=True, fields=fields)
    return replace(row, fields=fields)


def beside(peers: Peers) -> dict[str, str]:
    found = {"peers_temperature_c": peers.temp_c, "peers_clock_mhz": peers.clock_mhz}
    return {name: f"{value:g}" for name, value in found.items() if value is not None}
