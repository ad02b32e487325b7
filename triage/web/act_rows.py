"""Acts on nodes as pages show them, handed in by whoever puts the service together.

The pages know nothing of the actuator: an act is a value with the names of a row of
``GET /v1/actions``, and ``at``, when it came to stand as it does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from triage.services.context import Context


@dataclass(frozen=True, slots=True)
class Acts:
    """Acts that wait for a person, the newest others, and why nothing is done (cluster, why)."""

    waiting: Sequence[Any]
    newest: Sequence[Any]
    halted: Sequence[tuple[str, str]]


ListActs = Callable[[Context, str | None], Acts]
"""Acts of a cluster, or of all."""
ActsOfIncident = Callable[[Context, str], Sequence[Any]]
"""Acts of an incident, the first first."""
