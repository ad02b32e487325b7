"""What was done in a simulated incident: kept beside the folder, never in it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class IncidentTruth:
    """What happened, and what a good answer is.

    ``accepted`` are all leaves that are right, ``category`` the true one. Without
    ``culprit_nodes`` nobody may be convicted. ``cordon`` are the only nodes that
    may be taken out of service. ``root_visible``: a line of the cause is in the folder.
    """

    id: str
    scenario: str
    category: str
    accepted: tuple[str, ...]
    llama3_row: str | None
    culprit_nodes: tuple[str, ...]
    culprit_ranks: tuple[int, ...]
    gpus: tuple[str, ...]
    affected_nodes: tuple[str, ...]
    cordon: tuple[str, ...]
    verdicts: tuple[str, ...]
    healthy: bool
    root_visible: bool
    fault_at_ns: int
    dumps: str
    world_size: int
    num_nodes: int
    seed: int
    left_out: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def save(self, path: Path) -> None:
        """Write the truth as JSON."""
        path.write_text(json.dumps(self.to_dict(), indent=1) + "\n", encoding="utf-8")
