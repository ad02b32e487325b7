"""A wake-up for housekeeping: what is too old is removed."""

from triage.domain.states import WorkKind
from workers.base import answer, task

__all__ = ["retention"]


@task(WorkKind.RETENTION)
def retention(work_id: int) -> None:
    """Remove what is too old."""
    answer(WorkKind.RETENTION, work_id)
