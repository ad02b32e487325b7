"""Acts on nodes as a page shows them: plain values, handed in by whoever puts the service together.

The pages know nothing of the actuator; without one, its section is left out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from triage.services.context import Context

__all__ = ["ActRow", "Acts", "ActsOfIncident", "ListActs", "no_acts", "none_of_incident"]


@dataclass(frozen=True, slots=True)
class ActRow:
    """One act; ``state`` is that of ``triage.domain.acting.ActionState``."""

    id: str
    node: str
    verb: str
    state: str
    cluster: str | None
    incident_id: str
    why: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Acts:
    """Acts that wait for a person, the newest others, and why nothing is done (cluster, why)."""

    waiting: Sequence[ActRow] = field(default=())
    newest: Sequence[ActRow] = field(default=())
    halted: Sequence[tuple[str, str]] = field(default=())


ListActs = Callable[[Context, str | None], Acts]
"""Acts of a cluster, or of all."""


def no_acts(ctx: Context, cluster: str | None) -> Acts:  # noqa: ARG001
    """A service that does nothing to nodes."""
    return Acts()


ActsOfIncident = Callable[[Context, str], Sequence[ActRow]]
"""Acts of an incident, the first first."""


def none_of_incident(ctx: Context, incident_id: str) -> Sequence[ActRow]:  # noqa: ARG001
    """A service that does nothing to nodes."""
    return ()
