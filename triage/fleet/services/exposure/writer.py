"""Exposure is stored: rows of an import or of a hook become runs, outages and facts of nodes.

Times are stored to the second, names of nodes as keys, which are looked up once.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from sqlalchemy.orm import Session

from triage.fleet.domain.exposure import NodeFacts, Outage, Run
from triage.fleet.store import node_sets
from triage.fleet.store.merged_rows import Tally
from triage.fleet.store.outages import FACTS, NewOutage, keep_facts, keep_outages
from triage.fleet.store.runs import NewRun, keep_runs
from triage.store import jobs

__all__ = ["ExposureWriter"]

MOST_SETS: Final = 1024


class ExposureWriter:
    """Stores rows, in one session at a time; remembers the keys of names.

    ``key_id`` is the token that brings them.
    """

    def __init__(self, now: datetime, key_id: str | None = None) -> None:
        self.now = now
        self.key_id = key_id
        self.clusters: dict[str, int] = {}
        self.nodes: dict[tuple[int, str], int] = {}
        self.sets: dict[tuple[int, tuple[str, ...]], bytes] = {}

    def keep(
        self, session: Session, rows: Sequence[Run | Outage | NodeFacts], seen_at: datetime
    ) -> Tally:
        """Store these rows. ``seen_at`` is when runs without an end were last seen to run."""
        runs = [row for row in rows if isinstance(row, Run)]
        outages = [row for row in rows if isinstance(row, Outage)]
        facts = [row for row in rows if isinstance(row, NodeFacts)]
        self._learn(session, rows)
        return (
            self._keep_runs(session, runs, seen_at)
            .plus(self._keep_outages(session, outages))
            .plus(self._keep_facts(session, facts))
        )

    def _keep_runs(self, session: Session, runs: Sequence[Run], seen_at: datetime) -> Tally:
        spans = [self._spans_of(run) for run in runs]
        sets = node_sets.keep(session, set(filter(None, spans)))
        return keep_runs(
            session,
            (
                NewRun(
                    cluster_id=self.clusters[run.cluster],
                    job_id=run.job_id,
                    started_at=run.started_at.replace(microsecond=0),
                    ended_at=run.ended_at,
                    seen_at=run.ended_at or max(run.started_at, seen_at),
                    ending=run.ending,
                    cause=run.cause,
                    num_nodes=max(run.num_nodes, len(run.nodes)),
                    num_gpus=run.num_gpus,
                    nodes=sets.get(packed),
                    source=run.source,
                    key_id=self.key_id,
                )
                for run, packed in zip(runs, spans, strict=True)
            ),
        )

    def _keep_outages(self, session: Session, outages: Iterable[Outage]) -> Tally:
        return keep_outages(
            session,
            [
                NewOutage(
                    node_id=self.nodes[self.clusters[outage.cluster], outage.node],
                    from_at=outage.from_at.replace(microsecond=0),
                    to_at=outage.to_at,
                    reason=outage.reason,
                    source="import",
                    key_id=self.key_id,
                )
                for outage in outages
            ],
        )

    def _keep_facts(self, session: Session, facts: Sequence[NodeFacts]) -> Tally:
        found: dict[int, dict[str, str]] = {}
        for fact in facts:
            of_node = found.setdefault(self.nodes[self.clusters[fact.cluster], fact.node], {})
            of_node |= {name: text for name in FACTS if (text := getattr(fact, name))}
        tally = keep_facts(session, found)
        return tally._replace(unchanged=len(facts) - tally.changed)

    def _learn(self, session: Session, rows: Iterable[Run | Outage | NodeFacts]) -> None:
        """Look up the keys of all clusters and nodes that the rows name."""
        wanted: dict[str, set[str]] = {}
        for row in rows:
            names = wanted.setdefault(row.cluster, set())
            if isinstance(row, Run):
                names.update(row.nodes)
            else:
                names.add(row.node)
        for cluster in sorted(wanted):
            if cluster not in self.clusters:
                self.clusters[cluster] = jobs.cluster_key(session, cluster)
            key = self.clusters[cluster]
            new = [name for name in wanted[cluster] if (key, name) not in self.nodes]
            if new:
                jobs.saw_nodes(session, key, new, self.now)
                found = jobs.node_keys(session, key, new)
                self.nodes |= {(key, name): node for name, node in found.items()}

    def _spans_of(self, run: Run) -> bytes:
        if not run.nodes:
            return b""
        cluster = self.clusters[run.cluster]
        known = self.sets.get((cluster, run.nodes))
        if known is None:
            if len(self.sets) >= MOST_SETS:
                self.sets.clear()
            known = node_sets.packed(self.nodes[cluster, name] for name in run.nodes)
            self.sets[cluster, run.nodes] = known
        return known
