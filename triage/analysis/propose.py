"""Hypotheses: every cause that rows of evidence and detectors' claims could stand for.

Rows are taken node by node; what another row explains is set aside. Roots of one
category on one node are one hypothesis; the same root on many nodes at once is
one hypothesis on none of them. A detector's claim joins the hypothesis of its
node that can account for it, else it is one of its own.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from triage.analysis.claims import join_findings
from triage.analysis.connections import gather_connections, gather_switch
from triage.analysis.hypothesis import Hypothesis, Seats, by_time, sure
from triage.analysis.peers import common_leaf
from triage.analysis.roles import explained_by, marks, mild
from triage.analysis.stop import SECOND, Stop, When
from triage.domain.category import Category
from triage.domain.evidence import Blame, Evidence, EvidenceRole, Kind
from triage.domain.finding import Finding

__all__ = ["MEETING", "PART_OR_SETTING", "is_quoted", "propose"]

# Rows of one node that are looked at: distinct ones, the nearest to the stop first.
ROWS_PER_NODE: Final = 300
# What many nodes show at once is in none of them ...
SHARED_NODES: Final = 3
SHARED_PART: Final = 0.34
# ... for causes that can be outside: a memory chip does not fail on three nodes at once.
OUTSIDE: Final = frozenset(
    {
        Category.STORAGE, Category.DEPENDENCY, Category.NETWORK, Category.HOST_MAINTENANCE,
        Category.SOFTWARE_USER, Category.SOFTWARE_FRAMEWORK, Category.COLLECTIVE_MISMATCH,
        Category.NUMERICAL, Category.GPU_OOM, Category.HOST_OOM, Category.HOST_STALL,
        Category.NCCL_TIMEOUT, Category.POWER,
    }
)  # fmt: skip


def propose(
    evidence: Iterable[Evidence],
    findings: Sequence[Finding],
    seats: Seats,
    stop: Stop,
    *,
    nodes: Collection[str],
    leaf_switch: Mapping[str, str],
) -> list[Hypothesis]:
    """All hypotheses, in no order of belief."""
    by_place: dict[tuple[str, int], list[Evidence]] = defaultdict(list)
    rows = list(evidence)
    running_ns = min((r.at_ns for r in rows if r.kind is Kind.PROGRESS and r.at_ns), default=None)
    if findings:
        running_ns = 0  # who is stuck in a collective has met the others
    for row in rows:
        if speaks_for_itself(row):
            row = replace(row, role=EvidenceRole.ROOT)
        if row.role is not EvidenceRole.ROOT or is_quoted(row):
            continue
        if not meets_no_more(row, running_ns):
            by_place[place_of(row)].append(row)
    found: list[Hypothesis] = []
    for place in sorted(by_place):
        found += of_one_place(place, nearest(by_place[place], stop), seats, stop)
    found = without_outcries(with_unplaced(found), stop)
    gpus_that_would_not_start(found, nodes)
    found = gather_connections(found, seats, leaf_switch, nodes)
    found = without_meetings(found)
    found = gather_switch(found, stop, leaf_switch)
    found = gather_shared(found, stop, max(len(nodes), 1), leaf_switch)
    return join_findings(found, findings, seats)


# What the kernel does about a fault names the fault, where the first report of it is missing.
ROOT_WHEN_ALONE: Final = frozenset({"memory.poison"})


def speaks_for_itself(row: Evidence) -> bool:
    """Whether a consequence is root where nothing on its node explains it."""
    return row.role is EvidenceRole.CONSEQUENCE and row.signature in ROOT_WHEN_ALONE


# How the kernel's own lines begin, with the stamp that a pasted log may still have.
KERNEL_BEGINS = re.compile(
    r"[\[\]\d. :]*(?:kernel: ?)?(?:\[[\d. ]+\] ?)?(?:NVRM|nvidia)", re.IGNORECASE
)


def is_quoted(row: Evidence) -> bool:
    """Whether a driver's line stands inside somebody's sentence, in a job log."""
    if row.kind not in (Kind.XID, Kind.SXID) and not row.signature.startswith("nvidia."):
        return False
    return row.weak and KERNEL_BEGINS.match(row.text) is None


# The store and the rendezvous are how ranks find each other at the start.
MEETING: Final = ("c10d.rendezvous", "c10d.store", "elastic.rendezvous")


def meets_no_more(row: Evidence, running_ns: int | None) -> bool:
    """Whether ranks that had long met lose the store: it went with the process that held it."""
    if not row.signature.startswith(MEETING) or running_ns is None:
        return False
    return row.at_ns is None or row.at_ns > running_ns


def place_of(row: Evidence) -> tuple[str, int]:
    """The node that a row accuses, else its rank."""
    if row.kind is Kind.SCHEDULER and row.blame in (Blame.SHARED, Blame.NOBODY):
        return ("", -1)  # the node that such a line names is where the scheduler's step ran
    if row.node is not None:
        return (row.node, -1)
    return ("", -1 if row.rank is None else row.rank)


def nearest(rows: list[Evidence], stop: Stop) -> list[Evidence]:
    """At most :data:`ROWS_PER_NODE` rows, first those about the stop; then in order of time."""
    order = {When.AT: 0, When.AFTER: 1, When.UNDATED: 2, When.BEFORE: 3, When.STALE: 4}
    if len(rows) > ROWS_PER_NODE:
        seen: Counter[tuple[object, ...]] = Counter()
        kept = []
        for row in sorted(rows, key=lambda r: (order[stop.of(r)], r.at_ns or 0)):
            key = (row.signature, row.code, row.gpu, row.rank)
            seen[key] += 1
            if seen[key] <= 3:
                kept.append(row)
        rows = kept[:ROWS_PER_NODE]
    return sorted(rows, key=by_time)


EARLIER: Final = (When.BEFORE, When.STALE)


def of_one_place(
    place: tuple[str, int], rows: Sequence[Evidence], seats: Seats, stop: Stop
) -> list[Hypothesis]:
    """The roots of one node (or of one rank without a node), by category."""
    node = place[0] or None
    parents = explained_by(rows, lambda row: stop.of(row) in EARLIER)
    followers = Counter(parents.values())
    grouped: dict[Category, Hypothesis] = {}
    for index, row in enumerate(rows):
        if index in parents:
            continue
        category = row.category or Category.NCCL_TIMEOUT
        one = grouped.setdefault(category, Hypothesis(category, node))
        one.rows.append(row)
        one.followers += followers[index]
    for one in grouped.values():
        finish(one, place[1], seats)
        # A file server that does not answer is not in the node that waits for it.
        one.shared = one.category is Category.STORAGE and any(
            row.blame is Blame.SHARED and not row.weak for row in one.rows
        )
        one.nodes = tuple(sorted({node for row in one.rows for node in reached(row)}))
        one.shared = one.shared or bool(one.nodes)
    return [refined(one, rows) for one in grouped.values()]


def reached(row: Evidence) -> list[str]:
    """The nodes that a cause outside of them reaches, where a row lists them: those of a rack."""
    return row.fields.get("nodes", "").split() if row.blame is Blame.SHARED else []


def finish(one: Hypothesis, rank: int, seats: Seats) -> None:
    """Fill in the categories not excluded, GPUs and ranks that the rows name."""
    one.also = frozenset(also for row in one.rows for also in row.also)
    ranks = [rank] if rank >= 0 else []
    gpus: list[str] = []
    for row in one.rows:
        if row.gpu is not None and row.gpu not in gpus:
            gpus.append(row.gpu)
        if row.rank is not None and row.rank not in ranks:
            ranks.append(row.rank)
        if row.gpu is not None and one.node is not None:
            on_gpu = seats.rank_of_gpu(one.node, row.gpu)
            if on_gpu is not None and on_gpu not in ranks:
                ranks.append(on_gpu)
    one.ranks, one.gpus = tuple(ranks[:64]), tuple(gpus[:16])


def with_unplaced(found: list[Hypothesis]) -> list[Hypothesis]:
    """Lines that name no node go to the one node that shows the same, where there is only one."""
    kept = []
    for one in found:
        homes = [
            other
            for other in found
            if other.category is one.category and other.place != ("", -1) and sure(other)
        ]
        if one.place == ("", -1) and not one.nodes and len(homes) == 1:
            homes[0].rows = sorted([*homes[0].rows, *one.rows], key=by_time)
            homes[0].followers += one.followers
        else:
            kept.append(one)
    return kept


# A GPU that CUDA does not start: a driver or image that does not fit, or the GPU.
PART_OR_SETTING: Final = frozenset({"cuda.no_device", "cuda.init_error"})


def gpus_that_would_not_start(found: list[Hypothesis], nodes: Collection[str]) -> None:
    """One node of several cannot start a GPU: what all nodes share works, so it is the GPU."""
    shown = [one for one in found if any(row.signature in PART_OR_SETTING for row in one.rows)]
    if len(nodes) < 2 or len(shown) != 1:
        return
    one = shown[0]
    if one.node is not None and all(row.signature in PART_OR_SETTING for row in one.rows):
        one.category = Category.GPU
        one.also |= {Category.IO_BOARD, Category.DEPENDENCY}


def without_outcries(found: list[Hypothesis], stop: Stop) -> list[Hypothesis]:
    """A failure that says neither why nor where follows from the one cause that a line names."""
    causes = [
        one
        for one in found
        if one.category is not Category.NCCL_TIMEOUT
        and any(not mild(row) and stop.of(row) not in EARLIER for row in one.rows)
    ]
    if len(causes) != 1:
        return found
    kept = []
    for one in found:
        if one.category is Category.NCCL_TIMEOUT and one.place == ("", -1) and one.rows:
            causes[0].followers += len(one.rows)
        else:
            kept.append(one)
    return kept


LOST_TOGETHER_NS: Final = 10 * SECOND


def refined(one: Hypothesis, rows: Sequence[Evidence]) -> Hypothesis:
    """A node that loses several GPUs at once lost what they hang on, not each of them."""
    if one.category is not Category.GPU or not any("lost" in marks(row) for row in one.rows):
        return one
    lost = [row for row in rows if row.gpu and "lost" in marks(row) and not row.weak]
    newest = max((row.at_ns for row in lost if row.at_ns is not None), default=None)
    if newest is not None:
        lost = [row for row in lost if newest - (row.at_ns or 0) <= LOST_TOGETHER_NS]
    if len({row.gpu for row in lost}) < 2:
        return one
    count = len({row.gpu for row in lost})
    powered = any(row.kind is Kind.POWER for row in rows)
    one.category = (
        Category.POWER if powered else Category.CHASSIS if count >= 6 else Category.IO_BOARD
    )
    one.also |= {Category.CHASSIS, Category.POWER, Category.IO_BOARD, Category.GPU}
    return one


def without_meetings(found: list[Hypothesis]) -> list[Hypothesis]:
    """Without the loss of the store, where anything else went wrong: it follows from that."""
    if not any(
        sure(one) and not all(row.signature.startswith(MEETING) for row in one.rows)
        for one in found
    ):
        return found
    return [one for one in found if not all(row.signature.startswith(MEETING) for row in one.rows)]


# Storage behind a network is named by the nodes that wait for it; two are no accident.
SERVED_NODES: Final = 2


def gather_shared(
    found: list[Hypothesis], stop: Stop, num_nodes: int, leaf_switch: Mapping[str, str]
) -> list[Hypothesis]:
    """One hypothesis for what many nodes, or none in particular, show at the stop."""
    many: dict[Category, list[Hypothesis]] = defaultdict(list)
    for one in found:
        served = one.category is Category.STORAGE
        if one.category in OUTSIDE and (served or not one.shared) and about_the_stop(one, stop):
            many[one.category].append(one)
    merged: list[Hypothesis] = []
    gone: set[int] = set()
    for category, group in sorted(many.items()):
        strong = [one for one in group if sure(one)]
        # What only some show for certain, the others may show as a consequence.
        group = strong if strong else group
        nodes = {one.place for one in group} - {("", -1)}
        leaf = common_leaf([one.node for one in group if one.node], leaf_switch)
        behind_leaf = category is Category.NETWORK and leaf is not None and len(nodes) > 1
        served = category is Category.STORAGE and any(
            row.blame is Blame.SHARED for one in group for row in one.rows
        )
        enough = (
            len(nodes) >= max(SHARED_NODES, SHARED_PART * num_nodes)
            or (len(nodes) > 1 and len(nodes) >= num_nodes)
            or (served and len(nodes) >= SERVED_NODES)
        )
        if not (enough or behind_leaf) or (alone_first(group, stop) and not served):
            continue
        gone |= {id(one) for one in group}
        rows = sorted((row for one in group for row in one.rows[:4]), key=by_time)
        merged.append(
            Hypothesis(
                category, None, rows[:24], shared=True, followers=sum(o.followers for o in group),
                also=frozenset(also for one in group for also in one.also),
                nodes=tuple(sorted(o.node for o in group if o.node)) if behind_leaf else (),
                leaf=leaf if behind_leaf else None, votes=len(nodes),
            )
        )  # fmt: skip
    return [one for one in found if id(one) not in gone] + merged


def about_the_stop(one: Hypothesis, stop: Stop) -> bool:
    return any(stop.of(row) in (When.AT, When.AFTER, When.UNDATED) for row in one.rows)


# One rank that fails this long before all others failed by itself; they failed because of it.
HEAD_START_NS: Final = 3 * SECOND


def alone_first(group: Sequence[Hypothesis], stop: Stop) -> bool:
    """Whether one node showed it clearly before every other, and surely rather than weakly."""
    firm = any(not row.weak for one in group for row in one.rows)
    firsts = sorted(
        (min(times), error, one.node or "")
        for one in group
        if (
            shown := [
                row
                for row in one.rows
                if stop.of(row) in (When.AT, When.AFTER) and not (firm and row.weak)
            ]
        )
        and (times := [row.at_ns for row in shown if row.at_ns is not None])
        for error in [max(row.error_ns for row in shown)]
    )
    if len(firsts) < len(group) or len(firsts) < 2:
        return False
    return firsts[1][0] - firsts[0][0] > HEAD_START_NS + firsts[0][1] + firsts[1][1]
