"""Job logs of other jobs that lie beside this one's: their ranks ran on other nodes."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import permutations
from typing import Final

from triage.analysis.placement.gpu_names import JOINED
from triage.analysis.placement.host_names import parse_plain_host
from triage.analysis.placement.identity import parse_small_number
from triage.domain.counts import list_some
from triage.domain.evidence import KERNEL_KINDS, Evidence
from triage.domain.job import Job
from triage.parsers.logs.logset import LogSet

_SHOWN: Final = 3


def drop_other_jobs(
    logs: LogSet, facts: Job, dump_nodes: Mapping[int, str]
) -> tuple[LogSet, list[str]]:
    """``logs`` without those whose ranks all joined on nodes that are not the job's, and a note.

    The job's are those of ``job.json`` and of the dumps' folders (``dump_nodes``, by rank). Where
    these do not seat all ranks, a log on another node is another job's only if a rank of it sits
    elsewhere in this one, or is none of it. Where other logs do not call their nodes so, names
    are written in two ways, and nothing can be told from them. Where nothing tells the job's
    nodes, of two sets of logs that seat the same ranks on other nodes the job's is the one from
    more of whose nodes there are logs.
    """
    node_by_rank = {
        rank: parse_plain_host(node) for rank, node in {**facts.rank_to_node, **dump_nodes}.items()
    }
    own = {parse_plain_host(one) for one in facts.nodes} | set(node_by_rank.values())
    if not own:
        return _drop_strange_logs(logs, _find_less_heard_logs(logs, facts.world_size))
    is_whole = bool(facts.nodes) or len(node_by_rank) == facts.world_size
    hosts: dict[str, set[str]] = defaultdict(set)
    contradicting: set[str] = set()
    for row in logs.evidence:
        if row.signature == JOINED and row.node is not None:
            hosts[row.artifact].add(parse_plain_host(row.node))
            if is_whole or _is_on_another_node(row, node_by_rank, facts.world_size):
                contradicting.add(row.artifact)
    strange = {one for one in contradicting if not hosts[one] & own}
    seen = {
        parse_plain_host(row.node)
        for row in logs.evidence
        if row.node is not None and row.artifact not in strange
    }
    if 2 * len(own & seen) < len(own):
        return logs, []
    return _drop_strange_logs(logs, strange)


def _drop_strange_logs(logs: LogSet, strange: Collection[str]) -> tuple[LogSet, list[str]]:
    """``logs`` without those of another job, and a note that names them."""
    if not strange:
        return logs, []
    shown = list_some(sorted(strange), _SHOWN)
    kept = replace(
        logs,
        files=[file for file in logs.files if file.artifact not in strange],
        evidence=[row for row in logs.evidence if row.artifact not in strange],
    )
    return kept, [f"the ranks in {shown} ran on other nodes than this job's: left out"]


def _find_less_heard_logs(logs: LogSet, world: int | None) -> set[str]:
    """Of logs that seat the same ranks on other nodes, those whose side has fewer nodes with logs.

    Only communicators of all ranks count. Empty where no two logs contradict, or neither side
    has more.
    """
    joined = [row for row in logs.evidence if row.signature == JOINED and row.node is not None]
    size = world or max(
        (parse_small_number(row.fields.get("nranks")) or 0 for row in joined), default=0
    )
    hosts: dict[int, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    nodes: dict[str, set[str]] = defaultdict(set)
    for row in joined:
        if row.rank is not None and parse_small_number(row.fields.get("nranks")) == size:
            host = parse_plain_host(row.node or "")
            hosts[row.rank][host].add(row.artifact)
            nodes[row.artifact].add(host)
    against: dict[str, set[str]] = defaultdict(set)
    for at in hosts.values():
        for one, other in permutations(at, 2):
            for artifact in at[one]:
                against[artifact] |= at[other] - {artifact}
    if not against:
        return set()
    first = min(against)
    sides = (against[first], set().union(*(against[one] for one in against[first])))
    ran_on = [set().union(*(nodes[one] for one in side)) for side in sides]
    if sides[0] & sides[1] or sides[0] | sides[1] != set(against) or ran_on[0] & ran_on[1]:
        return set()  # more than two jobs, or attempts of one
    heard = {
        parse_plain_host(row.node)
        for row in logs.evidence
        if row.node is not None and row.kind in KERNEL_KINDS
    }
    counts = [len(heard & hosts_of) for hosts_of in ran_on]
    if counts[0] == counts[1]:
        return set()
    return sides[counts.index(min(counts))]


def _is_on_another_node(row: Evidence, node_by_rank: Mapping[int, str], world: int | None) -> bool:
    """Whether a rank that joined is not the job's rank of that number."""
    size = parse_small_number(row.fields.get("nranks"))
    if size is None or row.node is None or row.rank is None or world is None:
        return False
    return size > world or (
        size == world
        and node_by_rank.get(row.rank, parse_plain_host(row.node)) != parse_plain_host(row.node)
    )
