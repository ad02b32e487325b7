"""The record of outages alone: what repairs are answered from, over years in two queries."""

from datetime import datetime

import numpy as np
from sqlalchemy.orm import Session

from triage.fleet.domain.repair import RepairAction
from triage.fleet.record.columns import (
    Accusations,
    FleetRecord,
    Interruptions,
    RepairNotes,
    Runs,
)
from triage.fleet.services.parts import find_moved_among
from triage.fleet.services.record.nodes import Nodes, select_record_nodes
from triage.fleet.services.record.record import (
    build_record_outages,
    clip_to_int32,
    select_cluster_keys,
)
from triage.fleet.services.record.times import convert_to_epoch_ns
from triage.fleet.store import record as fleet


def read_outage_record(
    session: Session, *, since: datetime, until: datetime, cluster: str | None = None
) -> FleetRecord:
    """Outages and notes of repairs of a cluster, or of all of them; no run, no interruption.

    It begins with the first outage where that is later than ``since``: before it nobody watched.
    """
    names = {key: name for name, key in fleet.map_cluster_keys(session).items()}
    of = select_cluster_keys(names, cluster)
    outages = fleet.list_outage_rows(session, of, since, until)
    notes = fleet.list_repair_notes(session, of, since, until)
    begin = max(since, min((row.from_at for row in outages), default=since))
    known = fleet.list_node_rows(session, of)
    wanted = {row.node_id for row in outages} | {row.node for row in notes}
    wanted |= {row.key for row in known if row.last_seen_at >= begin}
    nodes = select_record_nodes(known, wanted, names)
    return FleetRecord(
        since_ns=convert_to_epoch_ns(begin),
        until_ns=convert_to_epoch_ns(until),
        nodes=nodes.names,
        generation=tuple(row.generation for row in nodes.rows),
        rack=tuple(row.rack for row in nodes.rows),
        leaf_switch=tuple(row.leaf_switch for row in nodes.rows),
        runs=_NO_RUNS,
        interruptions=_NO_INTERRUPTIONS,
        accusations=Accusations.of_rows(()),
        outages=build_record_outages(outages, nodes, begin, until, _NO_RUNS)[0],
        cluster=cluster,
        repairs=_build_repairs(notes, nodes),
        moved=find_moved_among(session, of, until, nodes),
    )


def _build_repairs(rows: list[fleet.RepairNote], nodes: Nodes) -> RepairNotes:
    """Notes as columns; an action of a newer release counts as any repair."""
    known = set(RepairAction)
    return RepairNotes(
        node=nodes.place[np.fromiter((row.node for row in rows), np.int32, len(rows))],
        at_ns=np.fromiter((convert_to_epoch_ns(row.at) for row in rows), np.int64, len(rows)),
        action=tuple(
            RepairAction(row.action) if row.action in known else RepairAction.OTHER for row in rows
        ),
        text=tuple(row.text for row in rows),
    )


def _make_empty_ints() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.zeros(0, np.int64)


_NO_RUNS = Runs(
    start_ns=_make_empty_ints(),
    end_ns=_make_empty_ints(),
    num_nodes=clip_to_int32(()),
    num_gpus=clip_to_int32(()),
    interrupted=np.zeros(0, np.bool_),
    planned=np.zeros(0, np.bool_),
    node_at=np.zeros(1, np.int64),
    node=clip_to_int32(()),
)
_NO_INTERRUPTIONS = Interruptions(
    at_ns=_make_empty_ints(),
    cause=(),
    resolved=np.zeros(0, np.bool_),
    planned=np.zeros(0, np.bool_),
    run=clip_to_int32(()),
    num_gpus=clip_to_int32(()),
    incident_id=(),
)
