"""Whether the job still ran when its dumps were taken, by its logs beside them.

Dumps that do not prove it leave the question to the logs: a watchdog that gave up is of a
job that stood still, and progress behind the last record is of one that went on.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from triage.analysis.facts.stop import SECOND, is_failing
from triage.analysis.waiting.case import Case
from triage.analysis.waiting.live import Live
from triage.domain.evidence import Evidence, Kind, Trait

__all__ = ["with_logs"]

# Progress printed this long after the last entry of any dump: the job went on behind them.
GOES_ON_NS: Final = 20 * SECOND


def with_logs(case: Case, evidence: Sequence[Evidence]) -> Case:
    """``case`` as its logs correct it; the same where they say nothing of it."""
    if case.live.proved and not case.live.by_age:
        return case
    last = max((digest.last_created_ns or 0 for digest in case.snapshot.digests), default=0)
    if case.in_flight and gave_up(evidence, last):
        return replace(case, live=Live(0.0, ("the watchdogs of the job gave up",)))
    if goes_on(evidence, last):
        return replace(case, live=Live(1.0, ("its log goes on behind the dumps",)))
    return case


def gave_up(evidence: Sequence[Evidence], last_ns: int) -> bool:
    """Whether a watchdog gave up, and not before the last record."""
    return any(
        Trait.TIMEOUT in row.traits and (row.at_ns is None or row.at_ns >= last_ns)
        for row in evidence
    )


def goes_on(evidence: Sequence[Evidence], last_ns: int) -> bool:
    """Whether the job prints progress well behind the last record, and no failing line."""
    return (
        bool(last_ns)
        and any(
            row.kind is Kind.PROGRESS and (row.last_at_ns or row.at_ns or 0) > last_ns + GOES_ON_NS
            for row in evidence
        )
        and not any(is_failing(row) for row in evidence)
    )
