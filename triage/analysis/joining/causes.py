"""Hypotheses that rows of evidence stand for, before any detector is heard.

Rows are taken node by node; what another row explains is set aside. Roots of one
category on one node are one hypothesis; the same root on many nodes at once is
one hypothesis on none of them.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from triage.analysis.facts.stop import (
    ABOUT_THE_STOP,
    EARLIER,
    NEAREST_FIRST,
    SECOND,
    Stop,
    is_by_process,
    is_of_a_health_check,
)
from triage.analysis.joining.connections import gather_connections
from triage.analysis.joining.consequences import find_explanations, is_lost_gpu
from triage.analysis.joining.followers import (
    drop_rendezvous_losses,
    drop_spread_numbers,
    drop_unplaced_failures,
)
from triage.analysis.joining.hypothesis import Hypothesis, get_time_key, select_earliest
from triage.analysis.joining.open_parts import (
    tell_open_gpu,
    tell_open_ones,
    tell_unnamed_ones,
    tell_whole_node,
    with_gpus_of_unnamed_errors,
)
from triage.analysis.joining.parts import with_proven_part
from triage.analysis.joining.place import AtNode, AtRank, Outside, Place, Unplaced
from triage.analysis.joining.shared import (
    SERVED,
    drop_what_half_the_job_prints,
    gather_shared,
    mark_unsure_if_one_node_speaks,
    merge_alike,
    merge_faults_of_a_program,
)
from triage.analysis.joining.switch import gather_switch
from triage.analysis.joining.unclaimed_faults import with_faults_of_programs
from triage.analysis.joining.unplaced import with_unplaced
from triage.analysis.placement.topology import JobTopology, Placement
from triage.domain.category import Category
from triage.domain.evidence import KERNEL_KINDS, Blame, Evidence, EvidenceRole, Kind, Trait
from triage.domain.patterns import compile_re

# Rows of one node that are looked at: distinct ones, the nearest to the stop first.
_ROWS_PER_NODE: Final = 300


def find_causes(
    evidence: Iterable[Evidence], topology: JobTopology, stop: Stop, *, met: bool = False
) -> list[Hypothesis]:
    """All that rows stand for, in no order of belief.

    ``met`` says that the ranks had met, as those who are stuck in a collective have.
    """
    rows = list(evidence)
    placement, nodes = topology.placement, topology.nodes
    causes: list[Hypothesis] = []
    for place, roots in sorted(
        _group_roots_by_place(rows, met=met).items(), key=lambda at: repr(at[0])
    ):
        causes += _build_hypotheses_at(place, _select_nearest_to_stop(roots, stop), placement, stop)
    causes = drop_what_half_the_job_prints(causes, nodes, placement)
    causes = mark_unsure_if_one_node_speaks(causes, rows, nodes)
    causes = drop_unplaced_failures(with_unplaced(causes, placement, stop), stop)
    causes = drop_spread_numbers(causes, stop)
    causes = _relabel_gpus_that_fail_to_start(causes, nodes)
    causes = with_domain_roots(causes)
    causes = gather_connections(causes, topology, _find_first_ends(rows), stop)
    causes = drop_rendezvous_losses(causes)
    causes = gather_switch(causes, topology.leaf_switch, stop)
    causes = gather_shared(causes, topology, stop)
    if len(nodes) > 1:
        causes = merge_faults_of_a_program(causes, stop)
    return merge_alike(with_gpus_of_unnamed_errors(causes, stop))


def _group_roots_by_place(rows: Sequence[Evidence], *, met: bool) -> dict[Place, list[Evidence]]:
    """The roots among the rows, at the places that they accuse."""
    running_ns = min((r.at_ns for r in rows if r.kind is Kind.PROGRESS and r.at_ns), default=None)
    if met:
        running_ns = 0
    roots: dict[Place, list[Evidence]] = defaultdict(list)
    for row in rows:
        row = _promote_if_alone(row)
        if row.role is not EvidenceRole.ROOT or is_quoted(row):
            continue
        if Trait.RENDEZVOUS in row.traits and _is_while_running(row, running_ns):
            continue
        roots[_find_accused_place(row)].append(row)
    return roots


def _promote_if_alone(row: Evidence) -> Evidence:
    """``row``, as a root where it names the fault: beside the fault's own line it is explained."""
    if row.role is not EvidenceRole.CONSEQUENCE or Trait.ROOT_WHEN_ALONE not in row.traits:
        return row
    if row.kind is Kind.SXID and row.category is Category.GPU:
        # The switch says that the GPU behind a link is gone; that no line of the GPU does leaves
        # the link.
        row = replace(row, category=Category.NVLINK, also=(Category.GPU, *row.also))
    return replace(row, role=EvidenceRole.ROOT)


def _find_first_ends(rows: Iterable[Evidence]) -> dict[str, Evidence]:
    """Node -> the first line in which one of its processes says that it failed, or was stuck."""
    firsts: dict[str, Evidence] = {}
    for row in rows:
        if row.node is None or row.at_ns is None or row.kind is not Kind.NCCL:
            continue
        if row.role is EvidenceRole.CONSEQUENCE:
            earliest = firsts.get(row.node)
            if earliest is None or get_time_key(row) < get_time_key(earliest):
                firsts[row.node] = row
    return firsts


# How the kernel's own lines begin, with the stamp that a pasted log may still have.
_KERNEL_BEGINS = compile_re(
    r"[\[\]\d. :]*(?:kernel: ?)?(?:\[[\d. ]+\] ?)?(?:NVRM|nvidia)", re.IGNORECASE
)


# The node problem detector tells a condition by the kernel's own line.
_CONDITION_HOLDS = compile_re(r"(?:Node )?condition \w{2,60} is now:? True\b", re.IGNORECASE)


def is_quoted(row: Evidence) -> bool:
    """Whether a driver's line stands inside somebody's sentence, in a job log; what a health check
    found is its own, and so is what a record tells of a node, which it names first.
    """
    if row.kind not in (Kind.XID, Kind.SXID) and Trait.QUOTABLE not in row.traits:
        return False
    begins = _KERNEL_BEGINS.match(row.text) or row.text.startswith(f"{row.node}: ")
    is_report = begins or _CONDITION_HOLDS.search(row.text) or is_of_a_health_check(row)
    return row.weak and not is_report


def _is_while_running(row: Evidence, running_ns: int | None) -> bool:
    """Whether ranks that had long met lose the store: it went with the process that held it."""
    if running_ns is None:
        return False
    return row.at_ns is None or row.at_ns > running_ns


def _find_accused_place(row: Evidence) -> Place:
    """The node that a row accuses, else its rank."""
    if row.blame is Blame.NOBODY:
        return Unplaced()
    if row.kind is Kind.SCHEDULER and row.blame is Blame.SHARED:
        return Unplaced()  # the node that such a line names is where the scheduler's step ran
    if row.node is not None:
        return AtNode(row.node)
    return Unplaced() if row.rank is None else AtRank(row.rank)


def _select_nearest_to_stop(rows: list[Evidence], stop: Stop) -> list[Evidence]:
    """At most :data:`ROWS_PER_NODE` rows, first those about the stop; then in order of time."""
    if len(rows) > _ROWS_PER_NODE:
        seen: Counter[tuple[object, ...]] = Counter()
        kept = []
        for row in sorted(rows, key=lambda r: (NEAREST_FIRST.index(stop.of(r)), get_time_key(r))):
            key = (row.signature, row.code, row.gpu, row.rank)
            seen[key] += 1
            if seen[key] <= 3:
                kept.append(row)
        rows = kept[:_ROWS_PER_NODE]
    return sorted(rows, key=get_time_key)


def _build_hypotheses_at(
    place: Place, rows: Sequence[Evidence], placement: Placement, stop: Stop
) -> list[Hypothesis]:
    """The roots of one node (or of one rank without a node), by category."""
    rows = with_faults_of_programs(rows)
    parents = find_explanations(rows, lambda row: stop.of(row) in EARLIER)
    followers = Counter(parents.values())
    grouped: dict[Category, list[Evidence]] = defaultdict(list)
    explains: Counter[Category] = Counter()
    for index, row in enumerate(rows):
        if index not in parents:
            category = row.category or Category.NCCL_TIMEOUT
            grouped[category].append(row)
            explains[category] += followers[index]
        elif _is_gpu_still_missing(row, rows[parents[index]], stop):
            # The GPU that the machine could not start at its boot is not there for the job.
            grouped[rows[parents[index]].category or Category.GPU].append(row)
    tell_open_ones(grouped, stop)
    tell_unnamed_ones(grouped, place, placement)
    tell_whole_node(grouped, stop)
    tell_open_gpu(grouped)
    hit: dict[Category | None, set[int | None]] = defaultdict(set)
    for index, parent in parents.items():
        if is_by_process(rows[index]) or is_lost_gpu(rows[index]):
            rank = rows[index].rank
            gpu = rows[index].gpu
            if rank is None and gpu is not None and isinstance(place, AtNode):
                rank = placement.rank_of_gpu(place.node, gpu)
            hit[rows[parent].category].add(rank)
    return [
        with_proven_part(
            _with_rank_hit(
                _build_hypothesis(category, place, own, explains[category], placement, stop),
                hit[category],
            ),
            rows,
            placement,
            stop,
        )
        for category, own in grouped.items()
    ]


def _is_gpu_still_missing(row: Evidence, cause: Evidence, stop: Stop) -> bool:
    """Whether a job does not find a GPU at the stop that its machine lost before."""
    if Trait.GPU_NOT_STARTED not in row.traits or stop.of(row) not in ABOUT_THE_STOP:
        return False
    return cause.kind in KERNEL_KINDS and stop.of(cause) not in ABOUT_THE_STOP


def _with_rank_hit(cause: Hypothesis, hit: Collection[int | None]) -> Hypothesis:
    """``cause``, where it names no GPU, with the one rank whose process or GPU was hit by it."""
    ranks = [rank for rank in hit if rank is not None]
    if cause.ranks or cause.gpus or len(ranks) != 1:
        return cause
    return replace(cause, ranks=tuple(ranks))


def _build_hypothesis(
    category: Category,
    place: Place,
    rows: Sequence[Evidence],
    followers: int,
    placement: Placement,
    stop: Stop,
) -> Hypothesis:
    """One hypothesis, with the GPUs and ranks that its rows about the stop name, else all rows."""
    rows = sorted(rows, key=lambda row: (stop.of(row) not in ABOUT_THE_STOP, get_time_key(row)))
    ranks: dict[int, None] = {place.rank: None} if isinstance(place, AtRank) else {}
    gpus: dict[str, None] = {}
    naming = [row for row in rows if stop.of(row) in ABOUT_THE_STOP and not row.is_generic]
    for row in naming or rows:
        if row.gpu is not None:
            gpus.setdefault(row.gpu)
        if row.rank is not None and _may_sit_at(place, row.rank, placement):
            ranks.setdefault(row.rank)
        if row.gpu is not None and isinstance(place, AtNode):
            on_gpu = placement.rank_of_gpu(place.node, row.gpu)
            if on_gpu is not None:
                ranks.setdefault(on_gpu)
    return Hypothesis(
        category,
        _find_reached_place(category, place, rows),
        tuple(rows),
        frozenset(also for row in rows for also in row.also),
        followers,
        ranks=tuple(ranks)[:64],
        gpus=tuple(gpus)[:16],
    )


def _may_sit_at(place: Place, rank: int, placement: Placement) -> bool:
    """Whether the map of ranks that is believed puts a rank on no other node than the place."""
    home = placement.node_of(rank)
    return home is None or not isinstance(place, AtNode) or home == place.node


def _find_reached_place(category: Category, place: Place, rows: Sequence[Evidence]) -> Place:
    """Where the cause lies that rows at ``place`` tell of."""
    if category is Category.NUMERICAL:
        # The rank that reports a NaN is not the one that made it: that would be `sdc`.
        return Outside()
    # Those of a rack, where a row lists them.
    shared = [row.fields.get("nodes", "") for row in rows if row.blame is Blame.SHARED]
    reached = sorted({node for nodes in shared for node in nodes.split()})
    if reached:
        return Outside(tuple(reached))
    # A server that does not answer is not in the node that waits for it.
    served = category in SERVED and any(
        row.blame is Blame.SHARED and (not row.weak or Trait.TOLD_TOGETHER in row.traits)
        for row in rows
    )
    if served and not isinstance(place, Unplaced):
        return Outside((place.node,) if isinstance(place, AtNode) else ())
    return place


def _relabel_gpus_that_fail_to_start(
    causes: Sequence[Hypothesis], nodes: Collection[str]
) -> list[Hypothesis]:
    """One node of several cannot start a GPU: what all nodes share works, so it is the GPU."""
    shown = [
        cause for cause in causes if any(Trait.GPU_NOT_STARTED in row.traits for row in cause.rows)
    ]
    if len(nodes) < 2 or len(shown) != 1:
        return list(causes)
    cause = shown[0]
    if cause.node is None or not all(Trait.GPU_NOT_STARTED in row.traits for row in cause.rows):
        return list(causes)
    also = cause.also | {Category.IO_BOARD, Category.DEPENDENCY}
    part = replace(cause, category=Category.GPU, also=also)
    return [part if other is cause else other for other in causes]


# NVLINK: the far end that went; the links of its domain then complain on every node.
_ROOT_XID: Final = 149
_ECHO_XIDS: Final = frozenset({144, 145, 146, 147, 148, 150, 45, 43})
# Beyond what the clocks of two nodes are commonly apart.
_ECHO_NS: Final = 600 * SECOND


def with_domain_roots(causes: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Without hypotheses that only echo the root of their NVLink domain, which has more followers.

    The GPU of the root line stands first, whatever severity its echoes print.
    """
    roots = [cause for cause in causes if any(_is_root(row) for row in cause.rows)]
    if len({cause.place for cause in roots}) != 1:
        return list(causes)
    root = min(roots, key=lambda cause: cause.category is not Category.NVLINK)
    first = select_earliest(row for row in root.rows if _is_root(row))
    echoes = [
        cause
        for cause in causes
        if cause is not root and cause.rows and all(_is_echo(row, first) for row in cause.rows)
    ]
    if not echoes:
        return list(causes)
    rest = select_earliest(row for row in root.rows if not _is_root(row))
    own = tuple(dict.fromkeys(row.gpu for row in (*first, *rest) if row.gpu is not None))
    whole = replace(
        root,
        rows=(*first, *rest),
        gpus=own,
        followers=root.followers + sum(len(cause.rows) for cause in echoes),
    )
    gone = {id(cause) for cause in echoes}
    return [whole if cause is root else cause for cause in causes if id(cause) not in gone]


def _is_root(row: Evidence) -> bool:
    return row.kind is Kind.XID and row.code == _ROOT_XID


def _is_echo(row: Evidence, roots: Sequence[Evidence]) -> bool:
    """Whether a row follows from a root of the domain: named so, or printed then."""
    if row.parent_code == _ROOT_XID:
        return True
    if row.kind is not Kind.XID or row.code not in _ECHO_XIDS:
        return False
    return any(
        row.at_ns is None
        or root.at_ns is None
        or root.at_ns - _ECHO_NS <= row.at_ns <= (root.last_at_ns or root.at_ns) + _ECHO_NS
        for root in roots
    )
