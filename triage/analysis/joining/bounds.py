"""Bounds: what no sum of weights may overrule, each with its limit and its reason.

A bound says why no more is believed of a hypothesis than its limit: what the dumps prove
of other places, when its lines were printed, and whether they may accuse alone.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from triage.analysis.facts.stop import (
    OF_AN_END,
    Stop,
    When,
    is_at_end_of_boot_log,
    is_at_own_stop,
    is_by_process,
)
from triage.analysis.joining.claims import (
    LINKS,
    is_accusing,
    is_on_many,
    is_proven_by_records,
    is_seen_by_machine_and_job,
    leaves_part_open,
    says_why_it_stalls,
)
from triage.analysis.joining.hypothesis import MANY_VOTES, Hypothesis, is_routine
from triage.analysis.joining.place import Outside
from triage.analysis.joining.unclaimed_faults import may_be_of_a_program
from triage.domain.category import SOFTWARE, Category
from triage.domain.evidence import Blame, Evidence, Kind, Trait
from triage.domain.finding import Finding
from triage.domain.toml_tables import read_toml


class Bound(StrEnum):
    """Why no more is believed of a hypothesis than its bound."""

    PROVEN_ELSEWHERE = "proven_elsewhere"
    CLAIMED_ELSEWHERE = "claimed_elsewhere"
    LOST_ELSEWHERE = "lost_elsewhere"
    EXPLAINED = "explained"
    NOBODY_NAMED = "nobody_named"
    GENERIC = "generic"
    GENERIC_BY_ONE = "generic_by_one"
    ROUTINE = "routine"
    WEAK = "weak"
    WEAK_BESIDE_PROOF = "weak_beside_proof"
    SEEN_BY_ONE = "seen_by_one"
    STALE = "stale"
    BEFORE = "before"
    TEARDOWN = "teardown"
    OF_ITS_END = "of_its_end"
    TAKEN_DOWN = "taken_down"
    UNDATED = "undated"
    UNDATED_BESIDE = "undated_beside"
    ENDS_ITS_LOG = "ends_its_log"
    UNFAMILIAR = "unfamiliar"
    UNFAMILIAR_ALONE = "unfamiliar_alone"
    GPU_OR_SETTING = "gpu_or_setting"
    GPU_OR_PROGRAM = "gpu_or_program"


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that is believed, and the reason in words."""

    most: float
    words: str


BOUNDS: Final[Mapping[Bound, Limit]] = {
    Bound(name): Limit(**one)
    for name, one in read_toml("triage.analysis.joining", "bounds").items()
}


# What makes a line no answer to why the job stopped, however little else there is.
NO_GUESS: Final = frozenset(
    {
        Bound.STALE,
        Bound.BEFORE,
        Bound.TEARDOWN,
        Bound.OF_ITS_END,
        Bound.TAKEN_DOWN,
        Bound.GENERIC,
        Bound.GENERIC_BY_ONE,
        Bound.ROUTINE,
    }
)


def list_bounds_by_dumps(
    cause: Hypothesis,
    proven: Collection[Finding],
    claimed: Collection[Finding],
    *,
    nobody: bool,
    dated: bool,
) -> Iterable[Bound]:
    """What the dumps prove of other places. Of several ends of the waits, lines may choose."""
    if proven and not any(claim in proven for claim in cause.claims):
        if not (dated and is_waited_for(cause)):
            yield Bound.PROVEN_ELSEWHERE
    elif claimed and not dated and not any(claim in claimed for claim in cause.claims):
        yield Bound.CLAIMED_ELSEWHERE
    # A line that needs no other source may say that a part is gone.
    gone = any(row.is_firm and row.fields.get("severity") == "fatal" for row in cause.rows)
    if nobody and cause.category in LINKS and not gone:
        yield Bound.NOBODY_NAMED


def is_waited_for(cause: Hypothesis) -> bool:
    """Whether the dumps, too, say that ranks wait for its place."""
    return cause.names_somebody and any(claim.ranks for claim in cause.claims)


_OF_ANOTHER_TIME: Final = frozenset({When.STALE, When.BOOT})


def is_firm_now(row: Evidence, stop: Stop) -> bool:
    """Whether a row needs no other source and is not of another day, or of a boot."""
    return row.is_firm and stop.of(row) not in _OF_ANOTHER_TIME


def list_bounds_by_rows(cause: Hypothesis, stop: Stop, *, beside: bool) -> Iterable[Bound]:
    """What its own lines are worth; a detector that convicts the place is another source."""
    yield from _list_bounds_by_times(cause, stop, beside=beside)
    if any(is_accusing(claim) for claim in cause.claims):
        firm = any(row.is_firm for row in cause.rows)
        firm = firm or is_on_many(cause, stop) or _tells_a_part(cause, stop)
        if any(is_proven_by_records(claim) for claim in cause.claims) and not firm:
            yield Bound.WEAK_BESIDE_PROOF
        return
    if all(row.is_generic for row in cause.rows):
        shared = cause.node is not None and all(row.blame is Blame.SHARED for row in cause.rows)
        yield Bound.GENERIC_BY_ONE if shared else Bound.GENERIC
    elif _is_fault_alone(cause) and is_routine(cause, stop):
        yield Bound.ROUTINE
    elif _needs_another_source(cause, stop) or (stop.job_seen and _is_fault_alone(cause)):
        yield Bound.WEAK
    if isinstance(cause.place, Outside) and len(cause.reached) == 1 and not cause.claims:
        yield Bound.SEEN_BY_ONE
    if all(Trait.GPU_NOT_STARTED in row.traits for row in cause.rows):
        yield Bound.GPU_OR_SETTING


def _list_bounds_by_times(cause: Hypothesis, stop: Stop, *, beside: bool) -> Iterable[Bound]:
    """What the times of its lines are worth."""
    times = {stop.of(row) for row in cause.rows}
    shows = any(is_at_own_stop(row, stop.of(row)) for row in cause.rows)
    is_claimed = any(is_accusing(claim) for claim in cause.claims)
    # The clock of a node that the dumps accuse may be minutes off.
    firm = any(row.is_firm for row in cause.rows)
    trusted = is_claimed and firm and not is_routine(cause, stop)
    earlier = _OF_ANOTHER_TIME | {When.BEFORE}
    if times <= _OF_ANOTHER_TIME:
        yield Bound.STALE
    elif times <= earlier:
        if not trusted:
            yield Bound.BEFORE
    elif times <= earlier | {When.TEARDOWN}:
        if not trusted:
            yield Bound.OF_ITS_END if cause.category in OF_AN_END else Bound.TEARDOWN
    elif not shows and stop.known and not is_claimed:
        if beside:
            yield Bound.UNDATED_BESIDE
        else:
            at_end = any(row.is_firm and is_at_end_of_boot_log(row) for row in cause.rows)
            yield Bound.ENDS_ITS_LOG if at_end else Bound.UNDATED
    is_taken_down = cause.category is Category.HOST_MAINTENANCE and not (
        firm or cause.names_somebody
    )
    if is_taken_down and times <= earlier | {When.TEARDOWN, When.AFTER}:
        yield Bound.TAKEN_DOWN


def _tells_a_part(cause: Hypothesis, stop: Stop) -> bool:
    """Whether its lines, said at the stop, name the part of a place that the dumps prove without
    one, or the part that they name.
    """
    is_open = any(leaves_part_open(claim, cause.category) for claim in cause.claims)
    return any(
        not (row.is_mild or row.is_generic)
        and (is_at_own_stop(row, stop.of(row)) or Trait.FOUND_OUT in row.traits)
        and (is_open or any(says_why_it_stalls(row, claim) for claim in cause.claims))
        for row in cause.rows
    )


def list_bounds_by_part(cause: Hypothesis, stop: Stop) -> Iterable[Bound]:
    """What its own lines leave open of the part, whoever waits for its place."""
    familiar = [row for row in cause.rows if Trait.UNFAMILIAR not in row.traits]
    proven = [claim for claim in cause.claims if is_proven_by_records(claim)]
    # A line without a node tells the cause, and not the place that the reader gave it.
    telling = [row for row in familiar if row.node is not None or cause.node is None]
    told = any(is_firm_now(row, stop) for row in telling) or len(familiar) == len(cause.rows)
    if not told and not any(claim.category is cause.category for claim in proven):
        seconded = telling or proven or cause.votes >= MANY_VOTES
        yield Bound.UNFAMILIAR if seconded else Bound.UNFAMILIAR_ALONE
    if cause.category is Category.GPU and all(map(may_be_of_a_program, cause.rows)):
        yield Bound.GPU_OR_PROGRAM


def _is_fault_alone(cause: Hypothesis) -> bool:
    """Whether a driver alone says what a program did wrong, and the job's own process does not:
    others run programs on its GPUs too.
    """
    return (
        cause.category in SOFTWARE
        and cause.names_somebody
        and not cause.claims
        and all(row.kind is Kind.XID for row in cause.rows)
    )


def _needs_another_source(cause: Hypothesis, stop: Stop) -> bool:
    """Whether none of its lines may accuse alone, and nobody else says so."""
    seconded = cause.votes >= MANY_VOTES and not isinstance(cause.place, Outside)
    claimed = any(claim.ranks for claim in cause.claims)
    if cause.category in LINKS and cause.names_somebody:
        # A machine's link and the job's errors of connections, or a fabric in which nobody
        # gets through, are two sources; of the two ends that one node names, none tells which.
        one_of_two = cause.votes < MANY_VOTES and all(row.blame is Blame.PAIR for row in cause.rows)
        claimed = claimed or (bool(cause.claims) and not one_of_two)
        seconded = seconded or is_seen_by_machine_and_job(cause.rows)
    elif cause.gpus:
        # So are a report of a GPU and a collective that all have entered and nobody leaves.
        claimed = claimed or bool(cause.claims)
    if cause.gpus or cause.ranks:
        # So are a tool's report of a GPU and the error of the process on it.
        sides = {is_by_process(row) for row in cause.rows if not (row.is_mild or row.is_generic)}
        seconded = seconded or len(sides) > 1 or (cause.followers > 0 and bool(cause.gpus))
    alone = not claimed and not seconded
    return alone and not any(row.is_mild or is_firm_now(row, stop) for row in cause.rows)


def is_single_line(cause: Hypothesis) -> bool:
    """Whether one sort of line alone accuses a place, and nothing follows from it there."""
    alone = cause.names_somebody and not cause.claims and not cause.followers
    return alone and len({row.signature for row in cause.rows}) == 1
