"""Claims of looks beside those of the dumps: two sources of one hang.

Dumps say what a rank issued, in order; a look says where it stands at one moment. Where both name
a rank they are two witnesses. Where the dumps prove another one, the look may be of another moment.
Where dumps leave open whether the job still ran, its logs say so.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from triage.analysis.facts.stop import SECOND, is_failing
from triage.analysis.joining.claims import is_accusing, is_proven_by_records
from triage.analysis.waiting.case import Case
from triage.analysis.waiting.live import Live
from triage.domain.category import Role
from triage.domain.evidence import Evidence, Kind, Trait
from triage.domain.finding import Finding

# What a look is worth against a record that proves another place.
_AGAINST_PROOF: Final = 0.4


def weigh_beside_dumps(
    of_looks: Sequence[Finding], of_dumps: Sequence[Finding], case: Case | None
) -> list[Finding]:
    """``of_looks``, as far as the dumps leave them standing; ``case`` is that of the dumps."""
    if case is None:
        return list(of_looks)
    named = {rank for claim in of_dumps if is_accusing(claim) for rank in claim.ranks}
    proven = {rank for claim in of_dumps if is_proven_by_records(claim) for rank in claim.ranks}
    return [
        replace(claim, strength=min(claim.strength, _AGAINST_PROOF), role=Role.POSSIBLE)
        if proven and claim.ranks and proven.isdisjoint(claim.ranks)
        else claim
        for claim in of_looks
        if claim.ranks or claim.nodes or not named
    ]


# Dumps that do not prove it leave the question to the logs: a watchdog that gave up is of a
# job that stood still, and progress behind the last record is of one that went on.

# Progress printed this long after the last entry of any dump: the job went on behind them.
_GOES_ON_NS: Final = 20 * SECOND


def with_logs(case: Case, evidence: Sequence[Evidence]) -> Case:
    """``case`` as its logs correct it; the same where they say nothing of it."""
    if case.live.proved and not case.live.by_age:
        return case
    last_ns = max((digest.last_created_ns or 0 for digest in case.snapshot.digests), default=0)
    # A watchdog gave up, and not before the last record.
    given_up = any(
        Trait.TIMEOUT in row.traits and (row.at_ns is None or row.at_ns >= last_ns)
        for row in evidence
    )
    if case.in_flight and given_up:
        return replace(case, live=Live(0.0, ("the watchdogs of the job gave up",)))
    # The job prints progress well behind the last record, and no failing line.
    goes_on = any(
        row.kind is Kind.PROGRESS and (row.last_at_ns or row.at_ns or 0) > last_ns + _GOES_ON_NS
        for row in evidence
    )
    if last_ns and goes_on and not any(is_failing(row) for row in evidence):
        return replace(case, live=Live(1.0, ("its log goes on behind the dumps",)))
    return case
