"""What an inventory says of the parts in a node."""

from dataclasses import dataclass
from datetime import datetime

from triage.domain.hardware import PartIdentity

__all__ = ["PartSeen"]


@dataclass(frozen=True, slots=True)
class PartSeen:
    """A part was in a node from ``first_at`` to ``last_at``; both None where nobody says when."""

    node: str
    part: PartIdentity
    first_at: datetime | None = None
    last_at: datetime | None = None
    cluster: str = ""
