"""Exposure is stored: rows of an import or of a hook become runs, outages, repairs, facts, parts.

Times are stored to the second, names of nodes as keys, which are looked up once.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import reduce
from typing import Any, Final

from sqlalchemy.orm import Session

from triage.fleet.domain.exposure import (
    FACTS,
    ExposureRow,
    NodeFacts,
    NodeRepair,
    Outage,
    PartSeen,
    Run,
)
from triage.fleet.store.exposure import (
    NewRepair,
    NewRun,
    R,
    Sighting,
    StoredOutage,
    Tally,
    keep_facts,
    keep_node_sets,
    keep_outages,
    keep_repairs,
    keep_runs,
    keep_sightings,
    pack_keys,
)
from triage.store import jobs

_MOST_SETS: Final = 1024


class ExposureWriter:
    """Stores rows, in one session at a time; remembers the keys of names.

    ``key_id`` is the token that brings them. ``contradictions`` counts outages that another
    report of the same node and start contradicts.
    """

    def __init__(self, now: datetime, key_id: str | None = None) -> None:
        self.now = now
        self.key_id = key_id
        self.clusters: dict[str, int] = {}
        self.nodes: dict[tuple[int, str], int] = {}
        self.sets: dict[tuple[int, tuple[str, ...]], bytes] = {}
        self.contradictions = 0

    def keep(self, session: Session, rows: Sequence[ExposureRow], seen_at: datetime) -> Tally:
        """Store these rows. ``seen_at`` is when runs without an end were last seen to run."""
        self._learn(session, rows)
        tallies = (
            self._keep_runs(session, [row for row in rows if isinstance(row, Run)], seen_at),
            self._keep_outages(session, [row for row in rows if isinstance(row, Outage)]),
            self._keep_repairs(session, [row for row in rows if isinstance(row, NodeRepair)]),
            self._keep_facts(session, [row for row in rows if isinstance(row, NodeFacts)]),
            self._keep_parts(session, [row for row in rows if isinstance(row, PartSeen)]),
        )
        return reduce(Tally.plus, tallies)

    def _keep_runs(self, session: Session, runs: Sequence[Run], seen_at: datetime) -> Tally:
        spans = [self._spans_of(run) for run in runs]
        sets = keep_node_sets(session, set(filter(None, spans)))
        rows = (
            self._build_row(
                NewRun,
                run,
                cluster_id=self.clusters[run.cluster],
                started_at=run.started_at.replace(microsecond=0),
                seen_at=run.ended_at or max(run.started_at, seen_at),
                num_nodes=max(run.num_nodes, len(run.nodes)),
                node_set_id=sets.get(packed),
            )
            for run, packed in zip(runs, spans, strict=True)
        )
        return keep_runs(session, rows)

    def _keep_outages(self, session: Session, outages: Iterable[Outage]) -> Tally:
        rows = [
            self._build_row(
                StoredOutage,
                outage,
                node_id=self.nodes[self.clusters[outage.cluster], outage.node],
                from_at=outage.from_at.replace(microsecond=0),
                source="import",
            )
            for outage in outages
        ]
        tally, contradictions = keep_outages(session, rows)
        self.contradictions += contradictions
        return tally

    def _keep_repairs(self, session: Session, repairs: Iterable[NodeRepair]) -> Tally:
        rows = [
            self._build_row(
                NewRepair,
                repair,
                node_id=self.nodes[self.clusters[repair.cluster], repair.node],
                at=repair.at.replace(microsecond=0),
                source="import",
            )
            for repair in repairs
        ]
        return keep_repairs(session, rows)

    def _build_row(self, kind: type[R], told: object, **own: Any) -> R:  # noqa: ANN401 - columns
        """A row to store: its ``own`` columns, and the others as the row of the same name told."""
        names = [name for name in kind._fields if name not in own and hasattr(told, name)]
        columns = {name: getattr(told, name) for name in names}
        return kind(**columns, **own, key_id=self.key_id)

    def _keep_facts(self, session: Session, facts: Sequence[NodeFacts]) -> Tally:
        found: dict[int, dict[str, str]] = {}
        for fact in facts:
            of_node = found.setdefault(self.nodes[self.clusters[fact.cluster], fact.node], {})
            of_node |= {name: text for name in FACTS if (text := getattr(fact, name))}
        tally = keep_facts(session, found)
        return tally._replace(unchanged=len(facts) - tally.changed)

    def _keep_parts(self, session: Session, parts: Iterable[PartSeen]) -> Tally:
        """Parts in nodes; of a time that nobody says they are seen now."""
        sightings = []
        for seen in parts:
            last = seen.last_at or seen.first_at or self.now
            first = seen.first_at or last
            sightings.append(
                Sighting(
                    *(seen.part.kind, seen.part.identity),
                    self.nodes[self.clusters[seen.cluster], seen.node],
                    seen.part.slot,
                    min(first, last).replace(microsecond=0),
                    last.replace(microsecond=0),
                    "import",
                    self.key_id,
                )
            )
        return keep_sightings(session, sightings)

    def _learn(self, session: Session, rows: Iterable[ExposureRow]) -> None:
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
                jobs.note_nodes_seen(session, key, new, self.now)
                found = jobs.find_node_keys(session, key, new)
                self.nodes |= {(key, name): node for name, node in found.items()}

    def _spans_of(self, run: Run) -> bytes:
        if not run.nodes:
            return b""
        cluster = self.clusters[run.cluster]
        known = self.sets.get((cluster, run.nodes))
        if known is None:
            if len(self.sets) >= _MOST_SETS:
                self.sets.clear()
            known = pack_keys(self.nodes[cluster, name] for name in run.nodes)
            self.sets[cluster, run.nodes] = known
        return known
