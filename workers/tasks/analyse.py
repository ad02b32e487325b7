"""A wake-up for an incident: its extracts become an answer."""

from triage.domain.states import WorkKind
from workers.base import answer, task

__all__ = ["analyse"]


@task(WorkKind.ANALYSE)
def analyse(work_id: int) -> None:
    """Answer the next incident in line."""
    answer(WorkKind.ANALYSE, work_id)
