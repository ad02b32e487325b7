"""The record of a fleet between two times, out of what hooks, imports and incidents have told.

A few questions to the database, each for all rows at once; the rest is joined here. What is
missing is said in the record's notes, and never made up.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
import numpy.typing as npt
from sqlalchemy.orm import Session

from triage.fleet.record.columns import FleetRecord, Interruptions, NodeSignals, Outages, Runs
from triage.fleet.services.record.accusations import accusations_of
from triage.fleet.services.record.nodes import Nodes, nodes_among
from triage.fleet.services.record.runs import Attempt, attempts_of
from triage.fleet.services.record.stops import CLOCKS_APART, UNDATED_WITHIN, Stop, is_slow, stops_of
from triage.fleet.store import record as fleet
from triage.fleet.store.node_sets import unpacked

__all__ = ["record_of"]

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)
UNNAMED: Final = ""


def record_of(
    session: Session, *, since: datetime, until: datetime, cluster: str | None = None
) -> FleetRecord:
    """Everything known of a cluster, or of all of them, from ``since`` until before ``until``.

    Where there is only one cluster that somebody named, what names none counts as of it.
    Times are aware. A cluster that nobody named yet gives a record without anything.
    """
    names = {key: name for name, key in fleet.clusters(session).items()}
    of = clusters_of(names, cluster)
    # A run that ended before the time can be that of an incident at its beginning.
    rows = fleet.runs(session, of, since - UNDATED_WITHIN, until)
    unnamed = next((key for key, name in names.items() if name == UNNAMED), None)
    attempts, num_cut = attempts_of(rows, unnamed)
    told = fleet.stops(session, of, since - CLOCKS_APART)
    suspects = fleet.suspects(session, of, since - CLOCKS_APART)
    outages = fleet.outages(session, of, since, until)
    known = fleet.nodes(session, of)
    stops = [one for one in stops_of(told, attempts, unnamed) if since <= one.at < until]
    inside = [place for place, run in enumerate(attempts) if run.end >= since and run.start < until]
    inside.sort(key=lambda place: (attempts[place].start, attempts[place].job_id))
    kept = [attempts[place] for place in inside]
    members_at, member_keys = unpacked([run.spans or b"" for run in kept])
    clusters = {row.incident_id: row.cluster for row in told}
    accused = {(clusters.get(row.incident_id), row.node) for row in suspects}
    accused |= {(row.cluster, row.resolved_node) for row in told if row.resolved_node}
    wanted = distinct(member_keys) | {row.node for row in outages}
    wanted |= {
        row.key for row in known if row.last_seen_at >= since or (row.cluster, row.name) in accused
    }
    nodes = nodes_among(known, wanted, names)
    new_place = {old: new for new, old in enumerate(inside)}
    interruptions = interruptions_of(stops, attempts, new_place)
    return FleetRecord(
        since_ns=ns(since),
        until_ns=ns(until),
        nodes=nodes.names,
        generation=tuple(row.generation for row in nodes.rows),
        rack=tuple(row.rack for row in nodes.rows),
        leaf_switch=tuple(row.leaf_switch for row in nodes.rows),
        runs=runs_of(kept, members_at, member_keys, nodes, since, until),
        interruptions=interruptions,
        accusations=accusations_of(stops, told, suspects, nodes),
        outages=outages_of(outages, nodes, since, until),
        signals=signals_of(session, since, until, told, suspects, nodes),
        gpus_per_node=gpus_per_node_of(kept),
        cluster=cluster,
        notes=tuple(notes_of(stops, kept, num_cut)),
    )


def clusters_of(names: Mapping[int, str], wanted: str | None) -> list[int]:
    """The keys of the clusters that a record is about."""
    if wanted is None:
        return sorted(names)
    named = [name for name in names.values() if name != UNNAMED]
    also = UNNAMED if named == [wanted] else wanted
    return sorted(key for key, name in names.items() if name in (wanted, also))


def runs_of(
    kept: Sequence[Attempt],
    at: npt.NDArray[np.int64],
    keys: npt.NDArray[np.int32],
    nodes: Nodes,
    since: datetime,
    until: datetime,
) -> Runs:
    """The runs as columns, cut to the time; one that ended after it was not interrupted in it."""
    start = np.array([ns(max(run.start, since)) for run in kept], np.int64)
    end = np.array([ns(min(run.end, until)) for run in kept], np.int64)
    over = np.array([run.end < until for run in kept], np.bool_)
    return Runs(
        start_ns=start,
        end_ns=np.maximum(start, end),
        num_nodes=small(run.num_nodes for run in kept),
        num_gpus=small(run.num_gpus for run in kept),
        interrupted=np.array([run.interrupted for run in kept], np.bool_) & over,
        planned=np.array([run.planned for run in kept], np.bool_) & over,
        node_at=at,
        node=nodes.place[keys],
    )


def interruptions_of(
    stops: Sequence[Stop], attempts: Sequence[Attempt], place: Mapping[int, int]
) -> Interruptions:
    runs = [-1 if stop.run is None else place.get(stop.run, -1) for stop in stops]
    return Interruptions(
        at_ns=np.array([ns(stop.at) for stop in stops], np.int64),
        cause=tuple(stop.cause for stop in stops),
        resolved=np.array([stop.resolved for stop in stops], np.bool_),
        planned=np.array([stop.planned for stop in stops], np.bool_),
        run=small(runs),
        num_gpus=small(0 if s.run is None else attempts[s.run].num_gpus for s in stops),
        incident_id=tuple(stop.incident_id for stop in stops),
    )


def outages_of(
    rows: Sequence[fleet.OutageRow], nodes: Nodes, since: datetime, until: datetime
) -> Outages:
    """Outages cut to the time. Those of one node that overlap are one: it is out only once."""
    found: list[tuple[int, int, int, str]] = []
    placed = sorted((int(nodes.place[row.node]), row.from_at, row) for row in rows)
    for node, _, row in placed:
        start = ns(max(row.from_at, since))
        end = max(start, ns(until if row.to_at is None else min(row.to_at, until)))
        if found and found[-1][0] == node and start <= found[-1][2]:
            _, first, last, reason = found[-1]
            found[-1] = (node, first, max(last, end), reason or row.reason)
        else:
            found.append((node, start, end, row.reason))
    return Outages(
        node=small(node for node, *_ in found),
        start_ns=np.array([start for _, start, _, _ in found], np.int64),
        end_ns=np.array([end for *_, end, _ in found], np.int64),
        reason=tuple(reason for *_, reason in found),
    )


def signals_of(
    session: Session,
    since: datetime,
    until: datetime,
    told: Sequence[fleet.StopRow],
    suspects: Sequence[fleet.SuspectRow],
    nodes: Nodes,
) -> dict[str, NodeSignals]:
    """What else is known of nodes; those of which nothing is known are left out."""
    codes: dict[int, set[int]] = {}
    for name, code in fleet.xids(session, since, until):
        if (node := nodes.place_of(None, name)) is not None:
            codes.setdefault(node, set()).add(code)
    slow = {row.incident_id: row.cluster for row in told if is_slow(row)}
    hits: Counter[int] = Counter()
    for row in suspects:
        if row.position == 1 and row.incident_id in slow:
            node = nodes.place_of(slow[row.incident_id], row.node)
            if node is not None:
                hits[node] += 1
    return {
        nodes.names[node]: NodeSignals(
            distinct_xids=tuple(sorted(codes.get(node, ()))), straggler_hits=hits[node]
        )
        for node in sorted({*codes, *hits})
    }


def gpus_per_node_of(kept: Sequence[Attempt]) -> int | None:
    counts = Counter(
        run.num_gpus // run.num_nodes
        for run in kept
        if run.num_nodes > 0 and run.num_gpus > 0 and run.num_gpus % run.num_nodes == 0
    )
    return min(counts, key=lambda number: (-counts[number], -number)) if counts else None


def notes_of(stops: Sequence[Stop], kept: Sequence[Attempt], num_cut: int) -> Iterable[str]:
    """What was put right; what a report can see to be missing, it says itself."""
    still_open = sum(run.open for run in kept)
    if still_open:
        yield f"runs without an end: {still_open:,}; they count until they were last heard of"
    again = sum(stop.also for stop in stops)
    if again:
        yield f"incidents that tell of a stop which is counted already: {again:,}"
    if num_cut:
        yield f"runs said to last into the next one of their job, and cut there: {num_cut:,}"


def distinct(keys: npt.NDArray[np.int32]) -> set[int]:
    """The different keys of millions; they are small numbers, so they need no sorting."""
    seen = np.zeros(int(keys.max(initial=0)) + 1, np.bool_)
    seen[keys] = True
    return set(np.flatnonzero(seen).tolist())


def small(values: Iterable[int]) -> npt.NDArray[np.int32]:
    return np.minimum(np.fromiter(values, np.int64), np.iinfo(np.int32).max).astype(np.int32)


def ns(at: datetime) -> int:
    return (at - EPOCH) // MICROSECOND * 1000
