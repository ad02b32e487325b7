"""The detectors' claims join the hypotheses that can account for them, and are never lost.

A claim names a rank that the others wait for. It stays a hypothesis of its own place,
whatever else is found. What failed there accounts for it too; a cause elsewhere does
only where a line that needs no other source dates it to the stop, and it reaches the place.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from triage.analysis.facts.stop import (
    ABOUT_THE_STOP,
    Stop,
    When,
    is_at_end_of_boot_log,
    is_at_own_stop,
    is_by_process,
)
from triage.analysis.joining.hypothesis import (
    MANY_VOTES,
    Hypothesis,
    get_score,
    is_sure_reading,
)
from triage.analysis.joining.place import AtNode, AtRank, Domain, Outside, Place, Unplaced
from triage.analysis.placement.topology import Placement
from triage.domain.category import GPU_CHIP, GPU_PARTS, HARDWARE, SOFTWARE, Category, Role
from triage.domain.evidence import KERNEL_KINDS, OF_A_PROGRAM, Blame, Evidence, Trait
from triage.domain.finding import Finding

# From here on a claim is worth more than any line that needs another source.
PROVEN: Final = 0.75
# Categories that name no part: they account for no claim.
_UNNAMED: Final = frozenset({Category.NCCL_TIMEOUT, Category.NONE})
# Parts that belong to one GPU: an error on another one is not why this rank is waited for.
_OF_ONE_GPU: Final = GPU_CHIP | SOFTWARE | {Category.GPU_OOM}


def is_accusing(claim: Finding) -> bool:
    """Whether a claim accuses the ranks that it names."""
    return claim.role is Role.CULPRIT and bool(claim.ranks or claim.nodes)


def is_proven_by_records(claim: Finding) -> bool:
    """Whether records prove a claim, rather than that they are missing."""
    return is_accusing(claim) and not claim.is_gap and claim.strength >= PROVEN


def leaves_part_open(claim: Finding, category: Category) -> bool:
    """Whether a claim proves a place and leaves its part open for ``category``, or says the same.

    A device that stands may be any part of a GPU, and a rank that is gone anything.
    """
    is_open = claim.category is Category.GPU and category in GPU_PARTS
    return claim.category in (category, Category.NCCL_TIMEOUT) or is_open


# What ends a process, or its node holds it up with.
_ENDS_A_PROCESS: Final = SOFTWARE | {
    Category.GPU_OOM,
    Category.HOST_OOM,
    Category.NUMERICAL,
    Category.DEPENDENCY,
}
_HOLDS_A_PROCESS: Final = frozenset(
    {Category.HOST_OOM, Category.HOST_MEMORY, Category.CPU, Category.SSD, Category.STORAGE}
)
_LEAST_OF_A_NODE: Final = 0.75


def says_why_it_stalls(row: Evidence, claim: Finding) -> bool:
    """Whether a row says why a process issues nothing, as a claim has it: the process itself why it
    ends, or its node rather surely what holds it up.
    """
    if claim.category is not Category.HOST_STALL or row.category is None:
        return False
    own = row.rank in claim.ranks and row.category in _ENDS_A_PROCESS
    is_sure = Trait.UNFAMILIAR not in row.traits or get_score(row) >= _LEAST_OF_A_NODE
    return claim.can_be_due_to(row.category) and (
        own or (is_sure and row.category in _HOLDS_A_PROCESS)
    )


def join_claims(
    causes: Sequence[Hypothesis], claims: Sequence[Finding], placement: Placement, stop: Stop
) -> list[Hypothesis]:
    """``causes`` with the claims that they account for, then each claim at its own place."""
    joining = _Joining(_place_unplaced_by_claims(causes, claims, placement, stop), placement, stop)
    joining.home = _find_node_of_the_lost(claims, joining.at, joining.causes, placement, stop)
    for claim in claims:
        for rank in claim.ranks:
            joining.add_of_rank(claim, rank)
        for node in claim.nodes:
            joining.add_of_node(claim, AtNode(node))
        if not (claim.ranks or claim.nodes):
            joining.add_of_nobody(claim)
    return [*joining.causes, *joining.bare.values()]


class _Joining:
    """Causes on their way to being joined with claims.

    ``bare`` are the claims at their own places, ``home`` the node of a rank of which nothing says
    where it sits. ``at`` are the causes at a node or rank, ``elsewhere`` those in no node.
    """

    def __init__(self, causes: list[Hypothesis], placement: Placement, stop: Stop) -> None:
        self.causes = causes
        self.placement = placement
        self.stop = stop
        self.home: AtNode | None = None
        self.bare: dict[tuple[Place, Category], Hypothesis] = {}
        self.at: dict[Place, list[int]] = defaultdict(list)
        self.elsewhere: list[int] = []
        for k, cause in enumerate(causes):
            general = all(row.is_generic for row in cause.rows) and not is_on_many(cause, stop)
            if cause.category in _UNNAMED or general:
                continue
            if isinstance(cause.place, AtNode | AtRank):
                self.at[cause.place].append(k)
            elif is_dated_to_the_stop(cause, stop) or (
                # The ends of several logs are no accident.
                cause.votes >= MANY_VOTES and _is_failing_at_stop(cause, stop)
            ):
                self.elsewhere.append(k)

    def add_of_rank(self, claim: Finding, rank: int) -> None:
        """A claim on a rank: with what failed at its place, and what reaches it."""
        place = _find_place_of_rank(rank, self.placement)
        if isinstance(place, AtRank) and self.home is not None:
            place = self.home
        holding = [
            k
            for k in (*self.at[place], *self.at.get(AtRank(rank), ()))
            if _can_hold_up(self.causes[k], claim, rank, self.placement, self.stop)
        ]
        is_named = any(rank in self.causes[k].ranks for k in holding) and len(claim.ranks) == 1
        for k in holding:
            # What names other ranks of the node is not why this one is gone, where anything is.
            if not is_named or rank in self.causes[k].ranks or not self.causes[k].ranks:
                self.causes[k] = _with_claim(self.causes[k], claim, rank)
        self.add_from_elsewhere(claim, place)
        self.add_at_its_own(claim, place, rank)

    def add_of_node(self, claim: Finding, place: AtNode) -> None:
        """A claim on a node of which no rank is known."""
        for k in self.at[place]:
            if claim.can_be_due_to(self.causes[k].category):
                self.causes[k] = _with_claim(self.causes[k], claim, None)
        self.add_from_elsewhere(claim, place)
        self.add_at_its_own(claim, place, None)

    def add_of_nobody(self, claim: Finding) -> None:
        """A claim that all ranks wait, and none is at fault."""
        for k, cause in enumerate(self.causes):
            if _can_hold_up_all(cause, claim, self.stop):
                self.causes[k] = _with_claim(cause, claim, None)
        self.add_at_its_own(claim, Outside(), None)

    def add_from_elsewhere(self, claim: Finding, place: Place) -> None:
        for k in self.elsewhere:
            if (
                claim.can_be_due_to(self.causes[k].category)
                and _can_reach(self.causes[k], place)
                and not _is_of_another_rank(self.causes[k], claim)
            ):
                self.causes[k] = _with_claim(self.causes[k], claim, None)

    def add_at_its_own(self, claim: Finding, place: Place, rank: int | None) -> None:
        own = self.bare.get((place, claim.category), Hypothesis(claim.category, place))
        self.bare[place, claim.category] = _with_claim(own, claim, rank)


def _can_hold_up(
    cause: Hypothesis, claim: Finding, rank: int, placement: Placement, stop: Stop
) -> bool:
    """Whether a cause at the place of a rank can be why the rank is waited for."""
    # A file that is missing may be any rank's of a node that failed.
    about = claim.is_gap or _is_about(cause, claim, rank, placement)
    # Ranks that run different operations are a cause by themselves.
    named = claim.category is Category.COLLECTIVE_MISMATCH
    return (
        about
        and (not named or _is_beginning_of_stop(cause, stop))
        and claim.can_be_due_to(cause.category)
    )


def _can_hold_up_all(cause: Hypothesis, claim: Finding, stop: Stop) -> bool:
    """Whether a cause can be why all ranks entered an operation and none gets through."""
    is_told = cause.category not in _OF_A_PROCESS or any(map(is_by_process, cause.rows))
    return claim.can_be_due_to(cause.category) and is_told and may_be_at_the_stop(cause, stop)


def _place_unplaced_by_claims(
    causes: Sequence[Hypothesis], claims: Sequence[Finding], placement: Placement, stop: Stop
) -> list[Hypothesis]:
    """``causes``; what one process says and no line places is at the one place that claims name,
    where nothing else fails there.
    """
    places = {_find_place_of_rank(rank, placement) for claim in claims for rank in claim.ranks}
    homeless = [
        cause
        for cause in causes
        if isinstance(cause.place, Unplaced)
        and cause.category in _OF_ONE_GPU
        and not any(OF_A_PROGRAM in row.fields for row in cause.rows)
        and any(not row.is_generic and stop.of(row) in ABOUT_THE_STOP for row in cause.rows)
    ]
    if len(places) != 1 or len(homeless) != 1:
        return list(causes)
    (place,) = places
    if any(cause.place == place and _is_failing_at_stop(cause, stop) for cause in causes):
        return list(causes)
    return [replace(cause, place=place) if cause is homeless[0] else cause for cause in causes]


def _find_node_of_the_lost(
    claims: Iterable[Finding],
    at: Mapping[Place, Sequence[int]],
    causes: Sequence[Hypothesis],
    placement: Placement,
    stop: Stop,
) -> AtNode | None:
    """The one node that fails at the stop and of which nobody says who sits there, where claims
    name one rank of which nobody says where it sits.
    """
    lost = {rank for claim in claims for rank in claim.ranks if placement.node_of(rank) is None}
    homes = {
        place
        for place, ones in at.items()
        if isinstance(place, AtNode)
        and not placement.ranks_on(place.node)
        and any(_is_failing_at_stop(causes[k], stop) for k in ones)
    }
    return homes.pop() if len(lost) == 1 and len(homes) == 1 else None


def _is_failing_at_stop(cause: Hypothesis, stop: Stop) -> bool:
    """Whether a clock, or the end of its log, dates a line that needs no other source."""
    return is_dated_to_the_stop(cause, stop) or any(
        row.is_firm and is_at_end_of_boot_log(row) for row in cause.rows
    )


# General words on this many nodes at the stop are no coincidence.
_MANY_NODES: Final = 3


def is_on_many(cause: Hypothesis, stop: Stop) -> bool:
    """Whether many nodes complain at the stop of what they share, or of the program they run; or
    some together.
    """
    if not isinstance(cause.place, Outside):
        return False
    now = [
        row
        for row in cause.rows
        if row.node is not None
        and (row.blame is Blame.SHARED or (is_by_process(row) and not row.is_generic))
        and stop.of(row) in (When.AT, When.AFTER)
    ]
    if len({row.node for row in now if stop.of(row) is When.AT}) >= _MANY_NODES:
        return True
    return any(Trait.TOLD_TOGETHER in row.traits for row in now)


def _find_place_of_rank(rank: int, placement: Placement) -> Place:
    """The node of a rank, else the rank itself."""
    node = placement.node_of(rank)
    return AtRank(rank) if node is None else AtNode(node)


def _with_claim(cause: Hypothesis, claim: Finding, rank: int | None) -> Hypothesis:
    """``cause`` with a claim; the rank that peers wait for stands before those that lines name,
    but for the rank on a GPU that a line names, and where only its file is missing: then it does
    where lines name several.
    """
    claims = cause.claims if claim in cause.claims else (*cause.claims, claim)
    if rank is None:
        return replace(cause, claims=claims)
    order = (*cause.ranks, rank)
    stands_first = not claim.is_gap or (len(cause.ranks) > 1 and len(claim.ranks) == 1)
    if cause.rows and not cause.gpus and stands_first:
        order = (rank, *cause.ranks)
    return replace(cause, claims=claims, ranks=tuple(dict.fromkeys(order)))


def is_dated_to_the_stop(cause: Hypothesis, stop: Stop) -> bool:
    """Whether it shows at the stop, or while ranks waited, in a line that needs no other source
    or in the trouble that several others have with it.
    """
    telling = (
        row for row in cause.rows if row.is_firm or (cause.votes >= MANY_VOTES and not row.is_mild)
    )
    return any(is_at_own_stop(row, stop.of(row)) for row in telling)


def _is_beginning_of_stop(cause: Hypothesis, stop: Stop) -> bool:
    """Whether a firm line dates it to the beginning of the stop, and not to what came of it."""
    return is_dated_to_the_stop(cause, stop) and any(
        row.is_firm and stop.of(row) is not When.AFTER for row in cause.rows
    )


# What ends a process behind what it has issued: the process itself tells of it.
_OF_A_PROCESS: Final = SOFTWARE | {Category.GPU_OOM, Category.HOST_OOM}
# Links flap on every day of a large cluster.
LINKS: Final = frozenset({Category.NETWORK, Category.NIC, Category.NVLINK})


def may_be_at_the_stop(cause: Hypothesis, stop: Stop) -> bool:
    """Whether it shows at the stop, or in a firm line that no clock dates, or in a copy of what
    a machine said there, or somebody found it out later; or, of a link, both in what a machine
    says while ranks wait and in transfers that fail on it, which they do when their patience ends,
    or in several of these.
    """
    if cause.category in LINKS:
        now = [row for row in cause.rows if stop.of(row) in ABOUT_THE_STOP and not row.is_mild]
        if is_seen_by_machine_and_job(row for row in now if not row.is_generic):
            return True
        if sum(row.blame is Blame.PAIR and stop.of(row) is When.AT for row in now) > 1:
            return True
    return is_dated_to_the_stop(cause, stop) or any(
        (row.is_firm and stop.of(row) is When.UNDATED)
        or (_is_echo_of_a_machine(row) and (stop.of(row) is When.AT or is_at_end_of_boot_log(row)))
        or (stop.is_found_late(row) and stop.of(row) in ABOUT_THE_STOP and not row.is_generic)
        or (is_sure_reading(row) and stop.of(row) in ABOUT_THE_STOP)
        or Trait.FOUND_OUT in row.traits
        for row in cause.rows
    )


def is_seen_by_machine_and_job(rows: Iterable[Evidence]) -> bool:
    """Whether a machine and a process of the job both complain: two sources."""
    return len({row.kind in KERNEL_KINDS for row in rows}) > 1


def _is_echo_of_a_machine(row: Evidence) -> bool:
    """Whether a machine says so, or a copy of its words, in a line that needs another source."""
    return row.weak and row.kind in KERNEL_KINDS and not (row.is_mild or row.is_generic)


def _can_reach(cause: Hypothesis, place: Place) -> bool:
    """Whether a cause in no node can be why a place is waited for."""
    if isinstance(cause.place, Domain):
        return isinstance(place, AtNode) and place.node in cause.place.nodes
    if not isinstance(cause.place, Outside):
        return False
    if cause.category is Category.STORAGE and cause.votes >= MANY_VOTES:
        return True  # a server that several nodes lose is lost to all; not all of them print it
    if cause.category in SOFTWARE and cause.votes >= _MANY_NODES:
        return True  # so is a program that fails: the logs of some are not there
    return not cause.reached or (isinstance(place, AtNode) and place.node in cause.reached)


def _is_of_another_rank(cause: Hypothesis, claim: Finding) -> bool:
    """Whether one process alone tells of a cause, and it is none that others wait for: then it says
    nothing of those.
    """
    told_by = {row.rank for row in cause.rows}
    return (
        len(told_by) == 1
        and None not in told_by
        and bool(claim.ranks)
        and told_by.isdisjoint(claim.ranks)
        and all(map(is_by_process, cause.rows))
    )


def _is_about(cause: Hypothesis, claim: Finding, rank: int, placement: Placement) -> bool:
    """Whether what failed on the node of a rank can be why that rank is waited for."""
    if rank in cause.ranks:
        return True
    if _is_of_another_rank(cause, claim) and cause.category not in HARDWARE:
        return False
    if cause.category not in _OF_ONE_GPU:
        return True
    gpu = placement.gpu_of(rank)
    nobody_named = all(row.rank is None for row in cause.rows)
    return nobody_named and (gpu is None or not cause.gpus or gpu in cause.gpus)
