"""Exposure is stored: rows of an import or of a hook become runs, outages, repairs, facts, parts.

Times are stored to the second, names of nodes as keys, which are looked up once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import fields
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


def _cut_to_second(at: datetime) -> datetime:
    return at.replace(microsecond=0)


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
        runs = self._keep_runs(session, [row for row in rows if isinstance(row, Run)], seen_at)
        outages, contradictions = keep_outages(
            session,
            [
                self._build_row(row, from_at=_cut_to_second(row.from_at))
                for row in rows
                if isinstance(row, Outage)
            ],
        )
        self.contradictions += contradictions
        repairs = [
            self._build_row(row, at=_cut_to_second(row.at))
            for row in rows
            if isinstance(row, NodeRepair)
        ]
        parts = [self._build_sighting(row) for row in rows if isinstance(row, PartSeen)]
        tallies = (
            *(runs, outages, keep_repairs(session, repairs)),
            self._keep_facts(session, [row for row in rows if isinstance(row, NodeFacts)]),
            keep_sightings(session, parts),
        )
        return reduce(Tally.plus, tallies)

    def _keep_runs(self, session: Session, runs: Sequence[Run], seen_at: datetime) -> Tally:
        spans = [self._spans_of(run) for run in runs]
        sets = keep_node_sets(session, set(filter(None, spans)))
        rows = (
            self._build_row(
                run,
                cluster_id=self.clusters[run.cluster],
                started_at=_cut_to_second(run.started_at),
                seen_at=run.ended_at or max(run.started_at, seen_at),
                num_nodes=max(run.num_nodes, len(run.nodes)),
                node_set_id=sets.get(packed),
            )
            for run, packed in zip(runs, spans, strict=True)
        )
        return keep_runs(session, rows)

    def _build_row(self, told: ExposureRow, **own: Any) -> dict[str, Any]:  # noqa: ANN401 - columns
        """The columns of a row to store: what it tells, and its ``own``."""
        if not isinstance(told, Run):
            own["node_id"] = self.nodes[self.clusters[told.cluster], told.node]
        columns = {one.name: getattr(told, one.name) for one in fields(told)}
        return {"source": "import", "key_id": self.key_id, **columns, **own}

    def _build_sighting(self, seen: PartSeen) -> dict[str, Any]:
        """A part in a node; of a time that nobody says it is seen now."""
        last = seen.last_at or seen.first_at or self.now
        first = seen.first_at or last
        return self._build_row(
            seen,
            kind=seen.part.kind,
            identity=seen.part.identity,
            slot=seen.part.slot,
            first_at=_cut_to_second(min(first, last)),
            last_at=_cut_to_second(last),
        )

    def _keep_facts(self, session: Session, facts: Sequence[NodeFacts]) -> Tally:
        found: dict[int, dict[str, str]] = {}
        for fact in facts:
            of_node = found.setdefault(self.nodes[self.clusters[fact.cluster], fact.node], {})
            of_node |= {name: text for name in FACTS if (text := getattr(fact, name))}
        tally = keep_facts(session, found)
        return tally._replace(unchanged=len(facts) - tally.changed)

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
