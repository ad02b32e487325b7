"""Job logs of other jobs that lie beside this one's: their ranks ran on other nodes."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from triage.analysis.gpu_names import JOINED
from triage.analysis.host_names import plain_host
from triage.analysis.identity import small
from triage.domain.evidence import Evidence
from triage.domain.fleet import Job
from triage.parsers.logs.logset import LogSet

__all__ = ["without_other_jobs"]

SHOWN: Final = 3


def without_other_jobs(
    logs: LogSet, facts: Job, dump_nodes: Mapping[int, str]
) -> tuple[LogSet, list[str]]:
    """``logs`` without those whose ranks all joined on nodes that are not the job's, and a note.

    The job's are those of ``job.json`` and of the dumps' folders (``dump_nodes``, by rank). Where
    these do not seat all ranks, a log on another node is another job's only if a rank of it sits
    elsewhere in this one, or is none of it. Where other logs do not call their nodes so, names
    are written in two ways, and nothing can be told from them.
    """
    seats = {rank: plain_host(node) for rank, node in {**facts.rank_to_node, **dump_nodes}.items()}
    own = {plain_host(one) for one in facts.nodes} | set(seats.values())
    if not own:
        return logs, []
    is_whole = bool(facts.nodes) or len(seats) == facts.world_size
    hosts: dict[str, set[str]] = defaultdict(set)
    contradicting: set[str] = set()
    for row in logs.evidence:
        if row.signature == JOINED and row.node is not None:
            hosts[row.artifact].add(plain_host(row.node))
            if is_whole or sits_elsewhere(row, seats, facts.world_size):
                contradicting.add(row.artifact)
    strange = {one for one in contradicting if not hosts[one] & own}
    if not strange:
        return logs, []
    seen = {
        plain_host(row.node)
        for row in logs.evidence
        if row.node is not None and row.artifact not in strange
    }
    if 2 * len(own & seen) < len(own):
        return logs, []
    listed = sorted(strange)
    shown = ", ".join(listed[:SHOWN])
    if len(listed) > SHOWN:
        shown += f" and {len(listed) - SHOWN} more"
    kept = replace(
        logs,
        files=[file for file in logs.files if file.artifact not in strange],
        evidence=[row for row in logs.evidence if row.artifact not in strange],
    )
    return kept, [f"the ranks in {shown} ran on other nodes than this job's: left out"]


def sits_elsewhere(row: Evidence, seats: Mapping[int, str], world: int | None) -> bool:
    """Whether a rank that joined is not the job's rank of that number."""
    size = small(row.fields.get("nranks"))
    if size is None or row.node is None or row.rank is None or world is None:
        return False
    return size > world or (
        size == world and seats.get(row.rank, plain_host(row.node)) != plain_host(row.node)
    )
