"""Which evidence is the job's: of its nodes, of its processes, and of its life.

Other people's processes run on its nodes, other jobs' logs lie beside its own, and a job that
ended in order tears down what its processes held.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from triage.analysis.facts.on_one_clock import DatedEvidence
from triage.analysis.facts.outlived import OF_A_PROCESS
from triage.analysis.facts.stop import FAILING, of_a_process
from triage.analysis.placement.identity import JobPlacement
from triage.analysis.progress import health_of
from triage.domain.evidence import Evidence, Kind, Trait
from triage.domain.job import Job
from triage.domain.progress import JobProgress, ProgressPoint
from triage.parsers.logs.logset import LogKind
from triage.signatures.program.process_names import Whose, whose

__all__ = ["is_behind", "of_its_processes", "strange_nodes", "without_teardown"]


def without_teardown(dated: DatedEvidence, progress: JobProgress | None) -> tuple[Evidence, ...]:
    """Without what processes print once the job has ended in order, and what other logs than its
    own say of processes: nothing failed by that.
    """
    end = progress.ended if progress is not None else None
    if end is None or not health_of(progress)[0].well:
        return tuple(dated.evidence)
    own = {file.artifact for file in dated.logs.files if file.kind is LogKind.JOB}
    return tuple(
        row
        for row in dated.evidence
        if not (
            of_a_process(row)
            and row.role in FAILING
            and (row.artifact not in own or is_behind(row, end))
        )
    )


def is_behind(row: Evidence, end: ProgressPoint) -> bool:
    """Whether a row stands below a line of its own log, or is no earlier than it in another."""
    if row.artifact == end.artifact:
        return (row.line or 0) > end.line
    return row.at_ns is not None and end.at_ns is not None and row.at_ns >= end.at_ns


def strange_nodes(dated: DatedEvidence, facts: Job) -> tuple[frozenset[str], list[str]]:
    """Nodes in the logs that are not the job's, and a note of them.

    The job's are those that ``job.json`` lists, else those where its ranks sit, when all of them
    are known. Where half of its nodes are not to be found among the logs' either, the two
    write names in different ways, and nothing can be told from that.
    """
    fleet = dated.fleet
    listed = {*facts.nodes, *facts.rank_to_node.values()}
    who = "job.json does not list"
    if not listed and fleet.world_size and len(fleet.node_by_rank) == fleet.world_size:
        listed = set(fleet.node_by_rank.values())
        who = "no rank of the job sits on"
    named = {row.node for row in dated.evidence if row.node is not None}
    seen = named | {file.node for file in dated.logs.files if file.node is not None}
    if not listed or 2 * len(listed & seen) < len(listed):
        return frozenset(), []
    strange = sorted(named - listed)
    if not strange:
        return frozenset(), []
    shown = ", ".join(strange[:3]) + (f" and {len(strange) - 3} more" if len(strange) > 3 else "")
    return frozenset(strange), [f"{who} {shown}: what their logs say is not held against anybody"]


def of_its_processes(evidence: Sequence[Evidence], fleet: JobPlacement) -> list[Evidence]:
    """The rows; what a driver says of another process than the job's is marked as that.

    By its number where some of the job's are known on that node, else by its name.
    """
    pids_on: dict[str, list[int]] = defaultdict(list)
    for node, pid in fleet.rank_by_pid:
        pids_on[node].append(pid)
    return [
        replace(row, traits=row.traits | {Trait.NOT_THE_JOB})
        if row.kind is Kind.XID
        and row.code in OF_A_PROCESS
        and row.pid is not None
        and is_a_strangers(row, pids_on)
        else row
        for row in evidence
    ]


# A launcher starts all processes of a node within seconds.
NEAR_PIDS: Final = 2_000


def is_a_strangers(row: Evidence, pids_on: Mapping[str, Sequence[int]]) -> bool:
    own = pids_on.get(row.node or "")
    if own and row.pid is not None:
        return min(abs(row.pid - pid) for pid in own) > NEAR_PIDS
    name = row.fields.get("name") or row.fields.get("process") or ""
    return bool(name) and not name.startswith("<") and whose(name) is not Whose.JOB
