"""What the description of a job says of the few nodes that a kernel log names.

Each of the 20,000 files of a large job is read by itself, and the rows of a kernel log want
the seats of its own node: going through all 16,384 of them takes a hundred times as long as
reading the file.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Final

from triage.analysis.placement.host_names import parse_plain_host
from triage.domain.job import Job
from triage.parsers.extract.extract import Extract
from triage.parsers.flight_recorder.naming import parse_node
from triage.parsers.logs.logset import LogKind

# A job of so few seats is taken as it is; so is it for a file that names so many nodes.
FEW_SEATS: Final = 256
MANY_NODES: Final = 64


class JobExcerpts:
    """A job, from which the part around some nodes can be had."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def of(self, extract: Extract) -> Job:
        """The job as far as the rows of this file can ask about it."""
        job = self.job
        rows = [row for one in extract.logs for row in one.rows]
        # A job's log may tell of any rank, and by its place among all nodes.
        kernel = all(one.file.kind is LogKind.KERNEL for one in extract.logs)
        if not rows or not kernel or len(self.nodes) <= FEW_SEATS:
            return job
        hosts = {parse_plain_host(row.node) for row in rows if row.node is not None}
        named = parse_node(extract.artifact)
        if named is not None:
            hosts.add(parse_plain_host(named))
        if len(hosts) > MANY_NODES:
            return job
        ranks = sorted(rank for host in hosts for rank in self.ranks_on.get(host, ()))
        return replace(job, nodes=(), rank_to_node={rank: self.nodes[rank] for rank in ranks})

    @cached_property
    def nodes(self) -> dict[int, str]:
        """Rank -> node, of all ranks of which the job says it."""
        job = self.job
        places = len(job.nodes) * (job.gpus_per_node or 0)
        ranks: Iterable[int] = {*range(min(places, job.world_size or places)), *job.rank_to_node}
        found = {rank: job.node_of(rank) for rank in ranks}
        return {rank: node for rank, node in found.items() if node is not None}

    @cached_property
    def ranks_on(self) -> dict[str, list[int]]:
        """Short name of a node -> its ranks."""
        short: dict[str, str] = {}
        found: dict[str, list[int]] = defaultdict(list)
        for rank, node in self.nodes.items():
            if node not in short:
                short[node] = parse_plain_host(node)
            found[short[node]].append(rank)
        return dict(found)
