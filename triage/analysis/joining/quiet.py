"""The answer where nobody is named: nothing stopped, or nothing says why."""

from collections.abc import Sequence
from typing import Final

from triage.analysis.case import Case, timestamp
from triage.analysis.joining.verdict import Decision, timed_out
from triage.analysis.stop import FAILING, JOB_KINDS, SECOND, Stop
from triage.domain.category import Action, Category, VerdictKind
from triage.domain.evidence import Evidence, EvidenceRole, Kind
from triage.domain.report import Verdict, Victims

__all__ = ["job_goes_on", "nothing_named"]

# Progress printed this long after the last entry of any dump: the job went on behind them.
GOES_ON_NS: Final = 20 * SECOND


def job_goes_on(case: Case, evidence: Sequence[Evidence]) -> bool:
    """Whether the job's log shows progress after the dumps were taken, and no failing line."""
    if any(row.role in FAILING and row.kind in JOB_KINDS for row in evidence):
        return False
    last = max((d.last_created_ns or 0 for d in case.snapshot.digests), default=0)
    return bool(last) and any(
        row.kind is Kind.PROGRESS and (row.last_at_ns or row.at_ns or 0) > last + GOES_ON_NS
        for row in evidence
    )


def nothing_named(
    case: Case | None, evidence: Sequence[Evidence], stop: Stop, *, coverage: float
) -> Decision:
    """The answer without a suspect: healthy, or why it cannot be told."""
    if case is not None and not stop.trouble:
        verdict = of_dumps(case, coverage)
    elif stop.job_seen and not stop.trouble:
        verdict = healthy(evidence)
    else:
        verdict = unattributed(case, evidence, stop)
    return Decision(verdict, (), Victims(), ())


def of_dumps(case: Case, coverage: float) -> Verdict:
    """Nobody is stuck and nobody is late."""
    read = len(case.snapshot.digests)
    if case.moving and not case.in_flight:
        return Verdict(
            VerdictKind.INCONCLUSIVE, Category.NONE, 0.5,
            "The dumps are of different moments of a running job and contradict each other;"
            " take them again, all at once.", Action.INVESTIGATE,
        )  # fmt: skip
    if coverage < 0.5:
        return nothing_in_dumps(read, f"only {coverage:.0%} of the expected ranks left a dump")
    doing = (
        "what is unfinished was only just issued" if case.in_flight else "all work issued is done"
    )
    return Verdict(
        VerdictKind.HEALTHY, Category.NONE, 0.9 * (0.5 + 0.5 * coverage),
        f"No rank is stuck or late: in {read} dumps {doing}.", Action.NONE,
    )  # fmt: skip


def nothing_in_dumps(read: int, why: str) -> Verdict:
    return Verdict(
        VerdictKind.INCONCLUSIVE, Category.NONE, 0.5,
        f"In {read} dumps every operation is done and no rank is late, but {why}:"
        " look at the logs of the processes.", Action.INVESTIGATE,
    )  # fmt: skip


def healthy(evidence: Sequence[Evidence]) -> Verdict:
    """Logs of a job that nothing went wrong with."""
    moved = any(row.kind is Kind.PROGRESS for row in evidence)
    return Verdict(
        VerdictKind.HEALTHY, Category.NONE, 0.85 if moved else 0.6,
        "No rank failed, none timed out and none was waited for: nothing in the logs says that"
        " the job stopped.", Action.NONE,
    )  # fmt: skip


def unattributed(case: Case | None, evidence: Sequence[Evidence], stop: Stop) -> Verdict:
    """A stop with no cause found, or no stop at all."""
    if not stop.trouble:
        return Verdict(
            VerdictKind.INCONCLUSIVE, Category.NONE, 0.5,
            "Nothing in the logs says that a job stopped, and nothing says why one would: bring the"
            " flight-recorder dumps or the job's own log.", Action.INVESTIGATE,
        )  # fmt: skip
    failing = any(row.kind in JOB_KINDS and row.role is not EvidenceRole.NOISE for row in evidence)
    if case is not None and not failing:
        return nothing_in_dumps(len(case.snapshot.digests), "the job is said to have failed")
    kind = VerdictKind.HANG if timed_out(evidence) else VerdictKind.INCONCLUSIVE
    if kind is VerdictKind.INCONCLUSIVE and failing:
        kind = VerdictKind.CRASH
    return Verdict(
        kind, Category.NCCL_TIMEOUT, 0.6 if failing else 0.5,
        "The job stopped, and what was found only follows from that: no line names a cause, so"
        " nobody is convicted.", Action.INVESTIGATE, at=timestamp(stop.start_ns or stop.end_ns),
    )  # fmt: skip
