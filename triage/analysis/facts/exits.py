"""Which process raised an error: the one whose exit its launcher reports below it.

A traceback names no rank. The launcher's next line does: which local rank ended with an exit
code of its own, and its process number, by which a kernel's log may name the node.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from triage.analysis.facts.stop import SECOND
from triage.analysis.placement.identity import JobPlacement
from triage.domain.evidence import KERNEL_KINDS, OF_A_PROGRAM, Evidence, EvidenceRole, Kind, Trait

# A traceback ends so few lines above what the launcher says of it, also among other ranks' lines.
MOST_LINES: Final = 40
_OF_PROCESSES: Final = frozenset({Kind.PYTHON, Kind.CUDA, Kind.NCCL})
# The signature of the line above a traceback that stopped nothing.
_IGNORED: Final = "python.ignored"
# What glibc says of a broken heap right before it aborts the process.
_ABORTS: Final = "python.heap"
# How elastic writes that it sent SIGTERM.
_TERMINATED: Final = "-15"
_MINUTE_NS: Final = 60 * 1_000_000_000


def mark_ignored_exceptions(rows: Sequence[Evidence]) -> list[Evidence]:
    """``rows`` in their order; an exception that Python itself ignored, as the line above its
    traceback says, is noise.
    """
    by_file: dict[str, list[int]] = defaultdict(list)
    for k, row in enumerate(rows):
        if row.line is not None and (row.signature == _IGNORED or row.role is EvidenceRole.ROOT):
            by_file[row.artifact].append(k)
    kept = list(rows)
    for places in by_file.values():
        announced: Evidence | None = None
        for k in sorted(places, key=lambda k: rows[k].line or 0):
            row = rows[k]
            if row.signature == _IGNORED:
                announced = row
            elif announced is not None and row.kind in _OF_PROCESSES:
                near = (row.line or 0) - (announced.line or 0) <= MOST_LINES
                if near and row.rank == announced.rank and row.count == 1:
                    kept[k] = replace(row, role=EvidenceRole.NOISE)
                announced = None
    return kept


def with_ranks_that_exit(rows: Sequence[Evidence], fleet: JobPlacement) -> list[Evidence]:
    """``rows`` in their order, roots of processes with the rank that exits below them."""
    homes = _map_pids_to_nodes(rows, fleet)
    seated_rows = [
        _place_exit(row, homes, fleet) if row.kind is Kind.ELASTIC and row.node is None else row
        for row in rows
    ]
    alone = _find_the_only_task_exit(rows)
    by_file: dict[str, list[int]] = defaultdict(list)
    for k, row in enumerate(seated_rows):
        if row.line is not None and (has_own_exit_code(row) or _is_nobodys(row)):
            by_file[row.artifact].append(k)
    for places in by_file.values():
        # The next exit below, of any node and of each.
        below: dict[str | None, Evidence] = {}
        for k in sorted(places, key=lambda k: -(seated_rows[k].line or 0)):
            row = seated_rows[k]
            if has_own_exit_code(row):
                if row.kind is Kind.ELASTIC or row.node == alone:
                    seated_rows[k] = below[None] = _place_exit(row, homes, fleet)
                    below[seated_rows[k].node] = seated_rows[k]
                continue
            last = below.get(row.node, below.get(None))
            if (
                last is not None
                and (last.line or 0) - (row.line or 0) <= MOST_LINES
                and row.local_rank in (None, last.local_rank)
                and (row.node is None or last.node in (None, row.node))
            ):
                seated_rows[k] = replace(
                    row, node=row.node or last.node, rank=last.rank, local_rank=last.local_rank
                )
    return _mark_the_only_exit(_mark_survived_aborts(_place_faults_of_exited(seated_rows)))


def _place_faults_of_exited(rows: Sequence[Evidence]) -> list[Evidence]:
    """``rows``; what a driver says of a process, in a log that names no node, is of the node and
    rank whose launcher says that this process ended.
    """
    ended: dict[int, list[Evidence]] = defaultdict(list)
    for row in rows:
        if row.kind is Kind.ELASTIC and row.pid is not None and row.node is not None:
            ended[row.pid].append(row)
    kept = []
    for row in rows:
        lost = row.kind is Kind.XID and row.node is None and row.pid is not None
        homes = ended.get(row.pid or 0, []) if lost else []
        if len({row.node for row in homes}) == 1:
            row = replace(row, node=homes[0].node, rank=homes[0].rank)
        kept.append(row)
    return kept


def _mark_survived_aborts(rows: Sequence[Evidence]) -> list[Evidence]:
    """``rows``; what aborts a process at once, of a rank that its launcher ended by a signal, was
    printed while it was ended: otherwise it had left by itself. What aborts processes of several
    nodes follows from their end, but for the node that was clearly the first.
    """
    ended = {
        (row.node, row.rank)
        for row in rows
        if row.kind is Kind.ELASTIC
        and row.rank is not None
        and row.fields.get("exit_code") == _TERMINATED
    }
    aborts = [row for row in rows if row.signature == _ABORTS and row.node is not None]
    first = _find_first_node(aborts)
    several = len({row.node for row in aborts}) > 1
    kept = []
    for row in rows:
        if row.signature == _ABORTS and (row.node, row.rank) in ended:
            row = replace(row, traits=row.traits | {Trait.TEARDOWN})
        elif row.signature == _ABORTS and several and row.node != first:
            row = replace(row, role=EvidenceRole.CONSEQUENCE)
        kept.append(row)
    return kept


# Whose process ended so long before those of all other nodes was the first.
_CLEARLY_NS: Final = 2 * SECOND


def _find_first_node(rows: Sequence[Evidence]) -> str | None:
    """The node whose rows begin clearly before those of all others; None where no clock tells."""
    begins: dict[str, int] = {}
    for row in rows:
        if row.at_ns is None or row.node is None:
            return None
        begins[row.node] = min(begins.get(row.node, row.at_ns), row.at_ns)
    order = sorted(begins, key=lambda node: begins[node])
    if len(order) < 2 or begins[order[1]] - begins[order[0]] < _CLEARLY_NS:
        return None
    return order[0]


def _mark_the_only_exit(rows: Sequence[Evidence]) -> list[Evidence]:
    """``rows``; what the one process says that left by itself, while launchers ended all others
    or tell of none, needs no other source, and is of when it left.
    """
    now = [row for row in rows if Trait.OUTLIVED not in row.traits]
    exits = [row for row in now if has_own_exit_code(row) and row.rank is not None]
    left = {row.rank for row in exits}
    ended = {
        row.rank
        for row in now
        if row.kind is Kind.ELASTIC and row.fields.get("exit_code") == _TERMINATED
    }
    nodes = {row.node for row in now if row.kind is Kind.ELASTIC and row.node is not None}
    if len(left) != 1 or not (ended - left or len(nodes) > 1):
        return list(rows)
    (rank,) = left
    at_ns = min((row.at_ns for row in exits if row.at_ns is not None), default=None)
    kept = []
    for row in rows:
        accuses = row.role is EvidenceRole.ROOT and row.kind in _OF_PROCESSES
        if accuses and row.rank == rank and Trait.OUTLIVED not in row.traits:
            row = replace(row, weak=False)
            if row.at_ns is None and at_ns is not None:
                row = row.dated(at_ns, at_ns, _MINUTE_NS)
        kept.append(row)
    return kept


def _find_the_only_task_exit(rows: Iterable[Evidence]) -> str | None:
    """The node of the one task that left by itself while the scheduler ended all others: its
    report stands behind the lines of any task.
    """
    tasks = [
        row
        for row in rows
        if row.kind is Kind.SCHEDULER
        and "exit_code" in row.fields
        and Trait.OUTLIVED not in row.traits
    ]
    left = {row.node for row in tasks if has_own_exit_code(row)}
    others = {row.node for row in tasks if row.fields["exit_code"] == _TERMINATED}
    return left.pop() if len(left) == 1 and others - left else None


def find_exited_ranks(rows: Iterable[Evidence]) -> dict[str, int]:
    """Node -> its one rank of which a launcher says that it ended, by a signal too, and not that
    the launcher ended it.
    """
    left: dict[str, set[int | None]] = defaultdict(set)
    for row in rows:
        ended = row.fields.get("exit_code", "0") not in ("0", _TERMINATED)
        ended = ended and Trait.OUTLIVED not in row.traits
        if row.kind is Kind.ELASTIC and row.node is not None and ended:
            left[row.node].add(row.rank)
    by_node = {}
    for node, ranks in left.items():
        (rank, *others) = ranks
        if rank is not None and not others:
            by_node[node] = rank
    return by_node


def has_own_exit_code(row: Evidence) -> bool:
    """Whether a launcher says that a process ended with an exit code of its own."""
    code = row.fields.get("exit_code", "")
    told = row.kind in (Kind.ELASTIC, Kind.SCHEDULER)
    return told and code.isdecimal() and code != "0"


def _is_nobodys(row: Evidence) -> bool:
    """Whether a process accuses without saying which one it is, or of which node it is the n-th."""
    return (
        row.kind in _OF_PROCESSES
        and row.role is EvidenceRole.ROOT
        and row.rank is None
        and OF_A_PROGRAM not in row.fields
        and (row.local_rank is None or row.node is None)
        and row.count == 1
    )


def _map_pids_to_nodes(rows: Iterable[Evidence], fleet: JobPlacement) -> dict[int, set[str]]:
    """Process number -> the nodes whose kernels name it, or on which a rank has it."""
    by_pid: dict[int, set[str]] = defaultdict(set)
    for node, pid in fleet.rank_by_pid:
        by_pid[pid].add(node)
    by_kernel: dict[int, set[str]] = defaultdict(set)
    for row in rows:
        if row.kind in KERNEL_KINDS and row.pid is not None and row.node is not None:
            by_kernel[row.pid].add(row.node)
    for pid, nodes in by_kernel.items():
        # Processes of several nodes may share a number: a kernel that names it tells which.
        by_pid[pid] = nodes & by_pid[pid] if len(nodes & by_pid[pid]) == 1 else nodes | by_pid[pid]
    return by_pid


def _place_exit(row: Evidence, homes: dict[int, set[str]], fleet: JobPlacement) -> Evidence:
    """An exit with the node of its process and its rank there, as far as they are known."""
    if row.node is None and row.pid is not None and len(homes.get(row.pid, ())) == 1:
        (node,) = homes[row.pid]
        row = replace(row, node=node)
    if row.rank is None and row.node is not None:
        rank = fleet.rank_of_pid(row.node, row.pid) if row.pid is not None else None
        if rank is None and row.local_rank is not None:
            rank = fleet.rank_of_local(row.node, row.local_rank)
        return replace(row, rank=rank)
    return row
