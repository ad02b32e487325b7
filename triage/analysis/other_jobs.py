"""Job logs of other jobs that lie beside this one's: their ranks ran on other nodes."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from triage.analysis.gpu_names import JOINED
from triage.analysis.host_names import plain_host
from triage.domain.fleet import Job
from triage.parsers.logs.logset import LogSet

__all__ = ["without_other_jobs"]

SHOWN: Final = 3


def without_other_jobs(
    logs: LogSet, facts: Job, dump_nodes: Iterable[str]
) -> tuple[LogSet, list[str]]:
    """``logs`` without those whose ranks all joined on nodes that are not the job's, and a note.

    The job's are those of ``job.json`` and of the dumps' folders. Where other logs do not call
    their nodes so, names are written in two ways, and nothing can be told from them.
    """
    own = {plain_host(one) for one in (*facts.nodes, *facts.rank_to_node.values(), *dump_nodes)}
    if not own:
        return logs, []
    hosts: dict[str, set[str]] = defaultdict(set)
    for row in logs.evidence:
        if row.signature == JOINED and row.node is not None:
            hosts[row.artifact].add(plain_host(row.node))
    strange = {artifact for artifact, names in hosts.items() if not names & own}
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
