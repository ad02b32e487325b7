"""What many nodes show at once, or none in particular, is in none of them."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from triage.analysis.facts.stop import ABOUT_THE_STOP, SECOND, Stop, When, is_by_process
from triage.analysis.joining.hypothesis import (
    Hypothesis,
    is_routine,
    is_seen_at_stop,
    is_sure,
    may_count,
    select_earliest,
    select_rows_at_stop,
)
from triage.analysis.joining.peers import find_common_leaf
from triage.analysis.joining.place import Domain, DomainKind, Outside, Place, Unplaced
from triage.analysis.placement.topology import JobTopology, Placement
from triage.domain.category import SOFTWARE, Category
from triage.domain.evidence import Blame, Evidence, Kind
from triage.domain.patterns import compile_re

# What many nodes show at once is in none of them ...
_SHARED_NODES: Final = 3
_SHARED_PART: Final = 0.34
# A server behind a network is named by the nodes that wait for it; two are no accident.
_SERVED_NODES: Final = 2
SERVED: Final = frozenset({Category.STORAGE, Category.DEPENDENCY})
# ... for causes that can be outside: a memory chip does not fail on three nodes at once.
_OUTSIDE: Final = SOFTWARE | {
    Category.STORAGE,
    Category.DEPENDENCY,
    Category.NETWORK,
    Category.HOST_MAINTENANCE,
    Category.COLLECTIVE_MISMATCH,
    Category.NUMERICAL,
    Category.GPU_OOM,
    Category.HOST_OOM,
    Category.HOST_STALL,
    Category.NCCL_TIMEOUT,
    Category.POWER,
}
_MAX_ROWS: Final = 24
_NUMBERS: Final = compile_re(r"0x[0-9a-f]+|\d+")


def gather_shared(
    causes: Sequence[Hypothesis], topology: JobTopology, stop: Stop
) -> list[Hypothesis]:
    """One hypothesis for what many nodes, or none in particular, show at the stop."""
    alike: dict[Category, list[Hypothesis]] = defaultdict(list)
    for cause in causes:
        outside_already = cause.in_no_node and cause.category not in SERVED
        if cause.category not in _OUTSIDE or outside_already:
            continue
        if is_seen_at_stop(cause, stop) and not is_routine(cause, stop):
            alike[_get_shared_category(cause.category)].append(cause)
    merged: list[Hypothesis] = []
    gone: set[int] = set()
    for _, kin in sorted(alike.items()):
        everybody = [
            cause for cause in kin if any(may_count(row, stop) for row in cause.rows)
        ] or kin
        shared = _find_shared_cause(everybody, topology, stop)
        if shared is not None:
            gone |= {id(cause) for cause in everybody}
            merged.append(shared)
    return [cause for cause in causes if id(cause) not in gone] + merged


def _find_shared_cause(
    everybody: Sequence[Hypothesis], topology: JobTopology, stop: Stop
) -> Hypothesis | None:
    """The one cause of what ``everybody`` shows; None where each may have its own."""
    # What only some show for certain, the others may show as a consequence.
    group = [cause for cause in everybody if _is_sure_now(cause, stop)] or everybody
    category = _find_commonest_category(group)
    if category is Category.SOFTWARE_USER and _is_gpu_fault_without_error(group, stop):
        category = Category.SOFTWARE_FRAMEWORK
    places = {cause.place for cause in group} - {Unplaced(), Outside()}
    nodes = _collect_nodes(group).union(*(cause.reached for cause in group))
    leaf = find_common_leaf(nodes, topology.leaf_switch)
    behind_leaf = category is Category.NETWORK and leaf is not None and len(places) > 1
    served = category in SERVED and any(
        row.blame is Blame.SHARED for cause in group for row in cause.rows
    )
    num_nodes = max(len(topology.nodes), 1)
    enough = (
        len(places) >= max(_SHARED_NODES, _SHARED_PART * num_nodes)
        or (len(places) > 1 and len(places) >= num_nodes and _speak_alike(group))
        or (served and len(places) >= _SERVED_NODES)
    )
    if not (enough or behind_leaf) or (_is_alone_first(group, stop) and not served):
        return None
    reached = tuple(sorted(nodes | _collect_nodes(everybody)))
    place: Place = Outside(reached)
    if behind_leaf:
        place = Domain(DomainKind.LEAF_SWITCH, leaf, reached)
    rows = select_earliest(
        (row for cause in group[:_MAX_GROUP] for row in select_rows_at_stop(cause, stop)), _MAX_ROWS
    )
    return Hypothesis(
        category,
        place,
        rows,
        also=frozenset(also for cause in group for also in cause.also),
        followers=sum(cause.followers for cause in group),
        votes=len(places),
    )


def _collect_nodes(group: Iterable[Hypothesis]) -> set[str]:
    """The nodes that hypotheses are on."""
    return {cause.node for cause in group if cause.node is not None}


def _get_shared_category(category: Category) -> Category:
    """One program crashes on all nodes; whose part of it is at fault is told in different words."""
    return Category.SOFTWARE_USER if category in SOFTWARE else category


def _is_gpu_fault_without_error(group: Sequence[Hypothesis], stop: Stop) -> bool:
    """Whether GPUs fault alike while no process raises an error of its own: it is in a kernel
    that all of them run, and those are libraries' far more often than the user's.
    """
    now = [row for cause in group for row in select_rows_at_stop(cause, stop)]
    return any(row.kind is Kind.XID for row in now) and all(
        row.kind in (Kind.XID, Kind.CUDA) for row in now
    )


def _find_commonest_category(group: Sequence[Hypothesis]) -> Category:
    """The category that most places show."""
    count = Counter(cause.category for cause in group)
    return min(count, key=lambda category: (-count[category], category))


def merge_alike(causes: Sequence[Hypothesis]) -> list[Hypothesis]:
    """One hypothesis for each category outside of all nodes, or at none that is told.

    What a program says in no node is in none, also where one node says it with a clock.
    """
    outside = {
        words: cause.place
        for cause in causes
        if cause.category in SOFTWARE and isinstance(cause.place, Outside)
        for words in sorted(_collect_wording(cause))
    }
    causes = [
        replace(cause, place=place)
        if cause.category in SOFTWARE
        and cause.node is not None
        and (place := next(filter(None, map(outside.get, sorted(_collect_wording(cause)))), None))
        else cause
        for cause in causes
    ]
    alike: dict[tuple[Category, Place], list[Hypothesis]] = defaultdict(list)
    for cause in causes:
        if not cause.names_somebody and cause.rows:
            alike[cause.category, cause.place].append(cause)
    firsts = {}
    for group in alike.values():
        firsts[id(group[0])] = group[0]
        if len(group) > 1:
            firsts[id(group[0])] = replace(
                group[0],
                rows=select_earliest(
                    (row for cause in group[:_MAX_GROUP] for row in cause.rows[:4]), _MAX_ROWS
                ),
                also=frozenset(also for cause in group for also in cause.also),
                followers=sum(cause.followers for cause in group),
                votes=len(group),
            )
    gone = {id(cause) for group in alike.values() for cause in group} - set(firsts)
    return [firsts.get(id(cause), cause) for cause in causes if id(cause) not in gone]


def drop_what_half_the_job_prints(
    causes: Sequence[Hypothesis], nodes: Collection[str], placement: Placement
) -> list[Hypothesis]:
    """A line of software that half of all ranks print is in no node."""
    if not any(cause.category in SOFTWARE for cause in causes):
        return list(causes)
    ranks_per_node = [len(placement.ranks_on(node)) for node in nodes]
    half = (sum(ranks_per_node) or _USUAL_RANKS * len(ranks_per_node)) / 2
    most = max(half, max(ranks_per_node, default=0), _USUAL_RANKS)
    world = placement.world_size or 0
    return [
        replace(cause, place=Outside())
        if cause.category in SOFTWARE
        and (
            any(is_by_process(row) and row.count > most for row in cause.rows)
            if isinstance(cause.place, Unplaced)
            else 2 * _count_ranks_that_agree(cause) >= max(world, _USUAL_RANKS)
        )
        else cause
        for cause in causes
    ]


# What a program that is the same everywhere says on every node.
_OF_THE_PROGRAM = SOFTWARE | {Category.DEPENDENCY}


def mark_unsure_if_one_node_speaks(
    causes: Sequence[Hypothesis], rows: Sequence[Evidence], nodes: Collection[str]
) -> list[Hypothesis]:
    """Where the processes of one node alone are heard and several of them say the same of their
    program, the others may have said so too: it needs another source.
    """
    speaking = {row.node for row in rows if _is_of_a_program(row) or row.kind is Kind.IDENTITY}
    if len(speaking) != 1 or None in speaking or len(nodes) < 2:
        return list(causes)
    return [
        replace(cause, rows=tuple(replace(row, weak=True) for row in cause.rows))
        if cause.category in _OF_THE_PROGRAM
        and cause.node in speaking
        and _is_said_by_several(cause.rows)
        else cause
        for cause in causes
    ]


def _is_of_a_program(row: Evidence) -> bool:
    return is_by_process(row) or row.kind is Kind.DEPENDENCY


def _is_said_by_several(rows: Sequence[Evidence]) -> bool:
    """Whether more than one process says so, as far as lines tell them apart."""
    own = [row for row in rows if _is_of_a_program(row)]
    ranks = {row.rank for row in own}
    return len(ranks) > 1 or (ranks == {None} and sum(row.count for row in own) > 1)


def merge_faults_of_a_program(causes: Sequence[Hypothesis], stop: Stop) -> list[Hypothesis]:
    """What a program does wrong on many GPUs of a node is in no node: the others' clocks may be
    off.
    """
    kept = []
    for cause in causes:
        faults = [row for row in cause.rows if _is_fault(row) and stop.of(row) in ABOUT_THE_STOP]
        many = len({row.gpu for row in faults}) >= _MANY_GPUS
        if cause.node is not None and many and not is_routine(cause, stop):
            alone = _is_gpu_fault_without_error([cause], stop)
            category = Category.SOFTWARE_FRAMEWORK if alone else cause.category
            cause = replace(cause, category=category, place=Outside(), rows=tuple(faults))
        kept.append(cause)
    return kept


def _is_fault(row: Evidence) -> bool:
    """Whether a GPU shows what a program does wrong."""
    return row.kind is Kind.XID and row.gpu is not None and row.category in SOFTWARE


# One bad batch makes one GPU fault, or the two that share it; more run the same wrong code.
_MANY_GPUS: Final = 3


def _count_ranks_that_agree(cause: Hypothesis) -> int:
    """How many ranks print the same, at most."""
    ranks: dict[str, set[int]] = defaultdict(set)
    for row in cause.rows:
        if is_by_process(row) and row.rank is not None:
            ranks[_NUMBERS.sub("0", row.text)].add(row.rank)
    return max(map(len, ranks.values()), default=0)


# As many ranks as a node commonly has, where no map is known.
_USUAL_RANKS: Final = 8
# Of a crash of ten thousand ranks a few hundred tell as much.
_MAX_GROUP: Final = 1024


def _is_sure_now(cause: Hypothesis, stop: Stop) -> bool:
    """Whether a line that needs no other source shows it at the stop."""
    return is_sure(cause) and any(
        row.is_firm and stop.of(row) in ABOUT_THE_STOP for row in cause.rows
    )


# One rank that fails this long before all others failed by itself; they failed because of it.
_HEAD_START_NS: Final = 3 * SECOND
_LOST_AFTER_NS: Final = 120 * SECOND


def _collect_wording(cause: Hypothesis) -> set[str]:
    """What processes say in its rows, whatever the numbers in it."""
    return {_NUMBERS.sub("0", row.text) for row in cause.rows if is_by_process(row)}


def _speak_alike(group: Sequence[Hypothesis]) -> bool:
    """Whether processes say something on all places or on none: an error raised on one node and
    a GPU's fault on another are two faults.
    """
    return group[0].category not in SOFTWARE or len({bool(_collect_wording(c)) for c in group}) == 1


def _is_alone_first(group: Sequence[Hypothesis], stop: Stop) -> bool:
    """Whether one node showed it clearly before every other, and surely rather than weakly."""
    if group[0].category in _OF_THE_PROGRAM and set.intersection(*map(_collect_wording, group)):
        return False  # one program says the same wherever it runs, on clocks that may be off
    firm = any(row.is_firm for cause in group for row in cause.rows)
    firsts = sorted(
        (min(times), error, cause.key)
        for cause in group
        if (
            shown := [
                row
                for row in cause.rows
                if stop.of(row) in (When.AT, When.AFTER) and not (firm and not row.is_firm)
            ]
        )
        and (times := [row.at_ns for row in shown if row.at_ns is not None])
        for error in [max(row.error_ns for row in shown)]
    )
    if len(firsts) < len(group) or len(firsts) < 2:
        return False
    ahead = firsts[1][0] - firsts[0][0]
    if group[0].category in SOFTWARE and ahead > _LOST_AFTER_NS:
        return False  # a launcher ends the others long before: that node's clock is off
    return ahead > _HEAD_START_NS + firsts[0][1] + firsts[1][1]
