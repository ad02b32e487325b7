"""The record of a fleet between two times, out of what hooks, imports and incidents have told.

A few questions to the database, each for all rows at once; the rest is joined here. What is
missing is said in the record's notes, and never made up.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import numpy as np
import numpy.typing as npt
from sqlalchemy.orm import Session

from triage.analysis.facts.part import list_named_parts
from triage.domain.category import OF_THE_NODE, Category, Role
from triage.domain.probation import Probation
from triage.fleet.domain.cause import (
    OutageCause,
    RepairAction,
    classify_outage_cause,
    classify_repair_action,
)
from triage.fleet.record.columns import (
    Accusation,
    Accusations,
    FleetRecord,
    Interruptions,
    NodeSignals,
    Outages,
    RepairNotes,
    Runs,
    convert_to_epoch_ns,
)
from triage.fleet.record.faults import ToldOutage, build_outages
from triage.fleet.repairs.answer import FleetRepairs, fleet_repairs, list_record_probations
from triage.fleet.services.record.nodes import Nodes, select_record_nodes
from triage.fleet.services.record.runs import (
    CLOCKS_APART,
    UNDATED_WITHIN,
    Attempt,
    Stop,
    build_attempts,
    build_stops,
    is_slow,
)
from triage.fleet.store import record as fleet
from triage.fleet.store.exposure import StoredOutage, unpack_sets
from triage.fleet.store.record import StopRow, SuspectRow
from triage.services.context import Context

_CATEGORIES: Final = frozenset(str(one) for one in Category)


def build_stop_accusations(
    stops: Sequence[Stop],
    rows: Sequence[StopRow],
    suspects: Sequence[SuspectRow],
    nodes: Nodes,
) -> Accusations:
    """The accusations of these stops, in their order.

    Where a person has said which node it was, that node alone is accused, with a score of 1,
    even if the ranking had not named it.
    """
    incidents = {row.incident_id: row for row in rows}
    of_incident: dict[str, list[SuspectRow]] = {}
    for row in suspects:
        of_incident.setdefault(row.incident_id, []).append(row)
    found: list[Accusation] = []
    for place, stop in enumerate(stops):
        if stop.incident_id is not None and not stop.planned:
            incident = incidents[stop.incident_id]
            mine = of_incident.get(stop.incident_id, [])
            found += _iterate_accused(place, incident, mine, nodes)
    return Accusations.of_rows(found)


def _iterate_accused(
    place: int, incident: StopRow, suspects: Sequence[SuspectRow], nodes: Nodes
) -> Iterator[Accusation]:
    named = incident.resolved_node
    if named is not None and incident.resolved_as in OF_THE_NODE:
        node = nodes.place_of(incident.cluster, named)
        part = next((_find_part(row) for row in suspects if row.node == named), None)
        if node is not None:
            category = Category(str(incident.resolved_as))
            yield Accusation(place, node, 1, 1.0, True, category, part)
        return
    for row in suspects:
        node = nodes.place_of(incident.cluster, row.node)
        if node is not None and row.category in _CATEGORIES:
            convicted, category = row.role == Role.CULPRIT, Category(row.category)
            yield Accusation(
                place, node, row.position, row.score, convicted, category, _find_part(row)
            )


def _find_part(row: SuspectRow) -> str | None:
    return list_named_parts(row.row or {}).first if row.part is None else row.part or None


_UNNAMED: Final = ""


def read_fleet_record(
    session: Session, *, since: datetime, until: datetime, cluster: str | None = None
) -> FleetRecord:
    """Everything known of a cluster, or of all of them, from ``since`` until before ``until``.

    Where there is only one cluster that somebody named, what names none counts as of it.
    Times are aware. A cluster that nobody named yet gives a record without anything.
    """
    names = {key: name for name, key in fleet.map_cluster_keys(session).items()}
    of = _select_cluster_keys(names, cluster)
    # A run that ended before the time can be that of an incident at its beginning.
    rows = fleet.list_run_rows(session, of, since - UNDATED_WITHIN, until)
    unnamed = next((key for key, name in names.items() if name == _UNNAMED), None)
    attempts, num_cut = build_attempts(rows, unnamed)
    told = fleet.list_stop_rows(session, of, since - CLOCKS_APART)
    suspects = fleet.list_suspect_rows(session, of, since - CLOCKS_APART)
    outages = fleet.list_outage_rows(session, of, since, until)
    known = fleet.list_node_rows(session, of)
    stops = [one for one in build_stops(told, attempts, unnamed) if since <= one.at < until]
    inside = [place for place, run in enumerate(attempts) if run.end >= since and run.start < until]
    inside.sort(key=lambda place: (attempts[place].start, attempts[place].job_id))
    kept = [attempts[place] for place in inside]
    members_at, member_keys = unpack_sets([run.spans or b"" for run in kept])
    clusters = {row.incident_id: row.cluster for row in told}
    accused = {(clusters.get(row.incident_id), row.node) for row in suspects}
    accused |= {(row.cluster, row.resolved_node) for row in told if row.resolved_node}
    wanted = _collect_distinct(member_keys) | {row.node_id for row in outages}
    wanted |= {
        row.key for row in known if row.last_seen_at >= since or (row.cluster, row.name) in accused
    }
    nodes = select_record_nodes(known, wanted, names)
    new_place = {old: new for new, old in enumerate(inside)}
    ran = _build_runs(kept, members_at, member_keys, nodes, since, until)
    away, num_ran_again = _build_outages(outages, nodes, since, until, ran)
    return FleetRecord(
        since_ns=convert_to_epoch_ns(since),
        until_ns=convert_to_epoch_ns(until),
        nodes=nodes.names,
        **nodes.facts,
        runs=ran,
        interruptions=_build_interruptions(stops, attempts, new_place),
        accusations=build_stop_accusations(stops, told, suspects, nodes),
        outages=away,
        signals=_collect_signals(session, since, until, told, suspects, nodes),
        gpus_per_node=ran.find_gpus_per_node(),
        cluster=cluster,
        notes=tuple(_iterate_notes(stops, kept, num_cut, num_ran_again)),
    )


def read_outage_record(
    session: Session, *, since: datetime, until: datetime, cluster: str | None = None
) -> FleetRecord:
    """Outages and notes of repairs of a cluster, or of all of them; no run, no interruption.

    What repairs are answered from, over years. It begins with the first outage where that is later
    than ``since``: before it nobody watched.
    """
    names = {key: name for name, key in fleet.map_cluster_keys(session).items()}
    of = _select_cluster_keys(names, cluster)
    outages = fleet.list_outage_rows(session, of, since, until)
    notes = fleet.list_repair_notes(session, of, since, until)
    begin = max(since, min((row.from_at for row in outages), default=since))
    known = fleet.list_node_rows(session, of)
    wanted = {row.node_id for row in outages} | {row.node for row in notes}
    wanted |= {row.key for row in known if row.last_seen_at >= begin}
    nodes = select_record_nodes(known, wanted, names)
    ran = _build_runs((), *unpack_sets([]), nodes, begin, until)
    return FleetRecord(
        since_ns=convert_to_epoch_ns(begin),
        until_ns=convert_to_epoch_ns(until),
        nodes=nodes.names,
        **nodes.facts,
        runs=ran,
        interruptions=_build_interruptions((), (), {}),
        accusations=Accusations.of_rows(()),
        outages=_build_outages(outages, nodes, begin, until, ran)[0],
        cluster=cluster,
        repairs=_build_repairs(notes, nodes),
    )


def _build_repairs(rows: Sequence[fleet.RepairNote], nodes: Nodes) -> RepairNotes:
    """Notes as columns; an action of a newer release counts as any repair."""
    known = set(RepairAction)
    return RepairNotes.of_rows(
        rows,
        node=nodes.place[np.array([row.node for row in rows], np.int32)],
        at_ns=np.array([convert_to_epoch_ns(row.at) for row in rows], np.int64),
        action=tuple(
            RepairAction(row.action) if row.action in known else RepairAction.OTHER for row in rows
        ),
    )


def _select_cluster_keys(names: Mapping[int, str], wanted: str | None) -> list[int]:
    """The keys of the clusters that a record is about."""
    if wanted is None:
        return sorted(names)
    named = [name for name in names.values() if name != _UNNAMED]
    also = _UNNAMED if named == [wanted] else wanted
    return sorted(key for key, name in names.items() if name in (wanted, also))


def _build_runs(
    kept: Sequence[Attempt],
    at: npt.NDArray[np.int64],
    keys: npt.NDArray[np.int32],
    nodes: Nodes,
    since: datetime,
    until: datetime,
) -> Runs:
    """The runs as columns, cut to the time; one that ended after it was not interrupted in it."""
    start = np.array([convert_to_epoch_ns(max(run.start, since)) for run in kept], np.int64)
    end = np.array([convert_to_epoch_ns(min(run.end, until)) for run in kept], np.int64)
    over = np.array([run.end < until for run in kept], np.bool_)
    return Runs.of_rows(
        kept,
        start_ns=start,
        end_ns=np.maximum(start, end),
        interrupted=np.array([run.interrupted for run in kept], np.bool_) & over,
        planned=np.array([run.planned for run in kept], np.bool_) & over,
        node_at=at,
        node=nodes.place[keys],
    )


def _build_interruptions(
    stops: Sequence[Stop], attempts: Sequence[Attempt], place: Mapping[int, int]
) -> Interruptions:
    return Interruptions.of_rows(
        stops,
        at_ns=np.array([convert_to_epoch_ns(stop.at) for stop in stops], np.int64),
        run=_clip_to_int32(-1 if s.run is None else place.get(s.run, -1) for s in stops),
        num_gpus=_clip_to_int32(0 if s.run is None else attempts[s.run].num_gpus for s in stops),
    )


def _build_outages(
    rows: Sequence[StoredOutage], nodes: Nodes, since: datetime, until: datetime, ran: Runs
) -> tuple[Outages, int]:
    """The outages as columns, and how many without an end the next run on their node ended."""
    told = (_read_outage(row, int(nodes.place[row.node_id])) for row in rows)
    return build_outages(told, ran, convert_to_epoch_ns(since), convert_to_epoch_ns(until))


def _read_outage(row: StoredOutage, node: int) -> ToldOutage:
    """A stored row; one of a release before this has its cause in its reason."""
    cause = classify_outage_cause(row.reason) if row.cause is None else OutageCause(row.cause)
    action = classify_repair_action(row.reason) if row.cause is None else None
    return ToldOutage(
        node=node,
        start_ns=convert_to_epoch_ns(row.from_at),
        end_ns=None if row.to_at is None else convert_to_epoch_ns(row.to_at),
        reason=row.reason,
        cause=cause,
        action=action if row.action is None else RepairAction(row.action),
        planned=cause is OutageCause.MAINTENANCE if row.planned is None else row.planned,
    )


def _collect_signals(
    session: Session,
    since: datetime,
    until: datetime,
    told: Sequence[fleet.StopRow],
    suspects: Sequence[fleet.SuspectRow],
    nodes: Nodes,
) -> dict[str, NodeSignals]:
    """What else is known of nodes; those of which nothing is known are left out."""
    codes: dict[int, set[int]] = {}
    for name, code in fleet.list_node_xids(session, since, until):
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


def _iterate_notes(
    stops: Sequence[Stop], kept: Sequence[Attempt], num_cut: int, num_ran_again: int
) -> Iterable[str]:
    """What was put right; what a report can see to be missing, it says itself."""
    still_open = sum(run.open for run in kept)
    if still_open:
        yield f"runs without an end: {still_open:,}; they count until they were last heard of"
    again = sum(stop.also for stop in stops)
    if again:
        yield f"incidents that tell of a stop which is counted already: {again:,}"
    if num_cut:
        yield f"runs said to last into the next one of their job, and cut there: {num_cut:,}"
    if num_ran_again:
        yield f"outages without an end, ended by the next run on their node: {num_ran_again:,}"


def _collect_distinct(keys: npt.NDArray[np.int32]) -> set[int]:
    """The different keys of millions; they are small numbers, so they need no sorting."""
    seen = np.zeros(int(keys.max(initial=0)) + 1, np.bool_)
    seen[keys] = True
    return set(np.flatnonzero(seen).tolist())


def _clip_to_int32(values: Iterable[int]) -> npt.NDArray[np.int32]:
    """Numbers as a column; one that is too large is the largest."""
    return np.minimum(np.fromiter(values, np.int64), np.iinfo(np.int32).max).astype(np.int32)


# Repairs of a fleet as they stand: what holds, what does not, who is on probation.
#
# Reads only: outages and notes of the last two years, in a few queries.

# What is older says little of how repairs hold now, and half a year weighs half.
LOOK_BACK: Final = timedelta(days=730)


def answer_repairs(ctx: Context, *, until: datetime, cluster: str | None = None) -> FleetRepairs:
    """Everything on the repairs of a cluster, or of all of them, as of ``until``."""
    with ctx.database.reading() as session:
        record = read_outage_record(session, since=until - LOOK_BACK, until=until, cluster=cluster)
    return fleet_repairs(record)


def list_probations_at(
    session: Session, until: datetime, cluster: str | None = None
) -> tuple[Probation, ...]:
    """The nodes on probation at ``until``, the likeliest to fail first."""
    record = read_outage_record(session, since=until - LOOK_BACK, until=until, cluster=cluster)
    return list_record_probations(record)
