"""A wake-up for a receiver: what waits for it is sent."""

from triage.domain.states import WorkKind
from workers.base import answer, task

__all__ = ["notify"]


@task(WorkKind.NOTIFY)
def notify(work_id: int) -> None:
    """Send to the next receiver in line."""
    answer(WorkKind.NOTIFY, work_id)
