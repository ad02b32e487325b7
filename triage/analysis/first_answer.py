"""A first answer while files still come: where all ranks stand, and a sample of what they did.

Who hangs is told by the frontiers alone in nearly all jobs. A slow rank, and one of two that
disagree, is told by histories: where the sample convicts nobody of a stop, all are read.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from triage.analysis.answer import Weighing, weigh_incident
from triage.analysis.snapshots.sample import num_chosen, sampled
from triage.domain.category import Role, VerdictKind
from triage.domain.job import Job
from triage.parsers.flight_recorder.dump_set import DumpSet
from triage.parsers.logs.logset import LogSet

__all__ = ["MANY", "weigh_sample"]

# An answer to fewer dumps takes less than half a second.
MANY: Final = 2048
# What the frontiers tell; a slow rank and a healthy job are told by histories.
STOPPED: Final = frozenset({VerdictKind.HANG, VerdictKind.DESYNC, VerdictKind.CRASH})


def weigh_sample(
    dumps: DumpSet, logs: LogSet, facts: Job, at: datetime | None, many: int | None = None
) -> tuple[Weighing, Sequence[str]] | None:
    """What a sample of the histories says, and a note on it.

    None where it does not do: for fewer than ``many`` dumps (None: :data:`MANY`), or where it
    convicts nobody of a stop.
    """
    num_dumps = len(dumps.digests)
    if num_dumps < (MANY if many is None else many):
        return None
    weighed = weigh_incident(replace(dumps, digests=sampled(dumps.digests)), logs, facts, at)
    decision = weighed.joined.decision
    if decision.verdict.kind not in STOPPED:
        return None
    if not any(one.role is Role.CULPRIT for one in decision.suspects):
        return None
    note = (
        f"a first answer: where all {num_dumps:,} dumps stand, and the past operations of"
        f" {num_chosen(num_dumps):,} of them; the settled answer compares all"
    )
    return weighed, (note,)
