"""What one incident brings to the joining: dumps with their claims, lines, and progress."""

from collections.abc import Sequence
from dataclasses import dataclass

from triage.analysis.live.beside_log import NO_LOOKS, LooksBesideLog
from triage.analysis.live.stacks.picture import NO_STACKS, StackPicture
from triage.analysis.waiting.case import Case
from triage.domain.evidence import Evidence
from triage.domain.finding import Finding
from triage.domain.progress import JobProgress


@dataclass(frozen=True, slots=True)
class Sources:
    """``claims`` are what the detectors say of ``case``, the strongest first; ``evidence`` is
    dated and attributed; ``progress`` is the course of the job by its logs, ``stacks`` where its
    ranks stand. ``beside`` is when looks at it were taken, seen from that course.
    """

    case: Case | None
    claims: Sequence[Finding]
    evidence: Sequence[Evidence]
    progress: JobProgress | None = None
    stacks: StackPicture = NO_STACKS
    beside: LooksBesideLog = NO_LOOKS

    @property
    def share_of_ranks_read(self) -> float:
        """The share of the expected ranks whose dump was read; 1 without any dump."""
        if self.case is None:
            return 1.0
        return len(self.case.snapshot.digests) / max(len(self.case.snapshot.world), 1)
