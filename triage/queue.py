"""The doorbell of the work table: tells a worker that something is due, and may fail to.

Nothing rests on it: the sweeper rings again for every row that nobody holds. Tasks are
sent by name, so that nothing here knows a worker.
"""

from collections.abc import Sequence
from typing import Protocol

from triage.domain.states import WorkKind

__all__ = ["Doorbell", "Silent", "task_name"]


def task_name(kind: WorkKind) -> str:
    """The name under which Celery knows the task of a kind of work."""
    return f"triage.{kind}"


class Doorbell(Protocol):
    """Rings after a commit; never raises for a broker that is away."""

    def ring(self, kind: WorkKind, ids: Sequence[int]) -> None:
        """Tell that these rows of ``work`` are due."""


class Silent:
    """Rings nowhere: the sweeper, or the embedded worker's own look at the table, finds it."""

    def ring(self, kind: WorkKind, ids: Sequence[int]) -> None:
        """Do nothing."""
