"""The answer when nothing came in that can be evidence: honest, and never a refusal.

A service opens an incident because a job is said to have failed. When no file follows,
or only files that cannot be read, somebody still asks what is known.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from triage.analysis.restart.decide import StopCause, decide_restart
from triage.domain.category import Action, Category, VerdictKind
from triage.domain.report import Answer, Refused, Verdict
from triage.domain.restart import NO_STARTS, EarlierStarts

# The person or hook that opened the incident says that a job stopped; nothing says why.
_CONFIDENCE: Final = 0.1


def answer_of_nothing(
    answer: Answer, num_files: int, refused: Sequence[Refused], starts: EarlierStarts = NO_STARTS
) -> Answer:
    """``answer``, which rests on no evidence, saying so. ``num_files`` came in; ``starts`` is
    what is known of earlier starts of the job.
    """
    verdict = Verdict(
        kind=VerdictKind.INCONCLUSIVE,
        category=Category.NCCL_TIMEOUT,
        confidence=_CONFIDENCE,
        summary=_summary(num_files, refused),
        action=Action.INVESTIGATE,
        at=answer.verdict.at,
    )
    restart = decide_restart(verdict, (), answer.job.num_nodes, StopCause(), starts)
    return replace(answer, verdict=verdict, suspects=(), restart=restart)


def _summary(num_files: int, refused: Sequence[Refused]) -> str:
    wanted = "send the flight-recorder dumps, kernel logs and job logs of its nodes"
    if not num_files and not refused:
        return f"Nothing came in for this job, so nothing can be said of the cause: {wanted}."
    if not refused:
        count = "1 file" if num_files == 1 else f"{num_files} files"
        return f"Nothing usable came in: no dump, and no line of a log in {count}; {wanted}."
    first = min(refused, key=lambda refusal: (refusal.artifact, refusal.why))
    count = "1 file" if len(refused) == 1 else f"{len(refused)} files"
    return (
        f"Nothing usable came in: {count} could not be read"
        f" ({' '.join(f'{first.artifact}: {first.why}'.split())}); {wanted}."
    )
