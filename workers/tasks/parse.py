"""A wake-up for an upload: its files come down to extracts and evidence."""

from triage.domain.states import WorkKind
from workers.base import answer, task

__all__ = ["parse"]


@task(WorkKind.PARSE)
def parse(work_id: int) -> None:
    """Read the next upload in line."""
    answer(WorkKind.PARSE, work_id)
