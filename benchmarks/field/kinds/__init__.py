"""The kinds of incident: what goes wrong, what it leaves behind where, and what is true of it."""

from benchmarks.field.kinds import (
    board,
    fabric,
    gpu,
    links,
    memory,
    outside,
    quiet,
    setting,
    software,
    trust,
    waits,
)
from benchmarks.field.kinds.registry import KINDS, Kind

__all__ = [
    "KINDS", "Kind", "board", "fabric", "gpu", "links", "memory", "outside", "quiet", "setting",
    "software", "trust", "waits",
]  # fmt: skip
