"""What was done to a simulated job: kept beside the folder, never in it."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class FaultPlace:
    """The collective at which the fault was set; ``seq_id`` is None for a send or recv."""

    pg: str
    desc: str
    ranks: tuple[int, ...]
    seq_id: int | None
    op: str


@dataclass(frozen=True, slots=True)
class Truth:
    """What happened, and what a good answer is.

    ``expect`` is ``culprit`` (name ``culprit_ranks`` and nobody else), ``none``
    (convict nobody) or ``undecided`` (convict nobody; ``possible_ranks`` may be
    named as possible). ``category`` is the category of a good answer that has the
    dumps alone, ``also`` are categories that are not wrong either; ``verdicts``
    are the kinds of verdict that are right.
    """

    kind: str
    culprit_ranks: tuple[int, ...]
    expect: str
    category: str
    also: tuple[str, ...]
    possible_ranks: tuple[int, ...]
    verdicts: tuple[str, ...]
    world_size: int
    tp: int
    dp: int
    pp: int
    ep: int
    gpus_per_node: int
    culprit_nodes: tuple[str, ...]
    at: FaultPlace | None
    at_step: int
    hang: bool
    timing: bool
    run_ahead: bool
    entries: int
    seed: int
    delay_ms: float | None
    skew_ms: float
    missing: tuple[int, ...]
    cut: tuple[int, ...]
    empty: tuple[int, ...]
    stale: tuple[int, ...]
    foreign_files: tuple[str, ...]
    groups: dict[str, list[list[int]]] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as :meth:`save` writes them."""
        return asdict(self)

    def save(self, path: Path) -> None:
        """Write the truth as JSON."""
        path.write_text(json.dumps(self.to_dict()) + "\n", encoding="utf-8")


def truth_path(out: Path) -> Path:
    """Where the truth of the folder ``out`` lies: beside it."""
    return out.with_name(out.name + ".truth.json")
