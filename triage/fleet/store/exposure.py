"""Runs, outages, repairs, parts and facts of nodes, each stored once, whichever sources report it.

A new row is inserted, a stored one is completed. Two reports of one row are merged by the rule of
its kind: neither their order nor a repeat changes the result.

Keys of nodes that were first seen together follow each other, so a set of nodes is a few spans:
(first key, how many), each two unsigned integers of 32 bits, low byte first.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from sqlalchemy import select, tuple_, update
from sqlalchemy.orm import Session

from models import Artifact, Base, Cluster, Node, NodeSet, Outage, PartSighting, Repair, Run, Upload
from triage.domain.batched import split_into_batches
from triage.domain.hardware import HardwareKind
from triage.domain.wire import SentAs, WireForm
from triage.fleet.domain.exposure import (
    FACTS,
    Ending,
    complete_fields,
    is_contradiction,
    order_reports,
    weigh_ending,
)
from triage.store.database.upsert import insert_missing, insert_new, lock_rows
from triage.store.jobs import find_node_keys
from triage.store.uploads.evidence import Reading

_CHUNK: Final = 1000
_WORD: Final = np.dtype("<u4")
# An address on the bus says more of a slot than a number.
_BUS: Final = ":"


class Tally(NamedTuple):
    """How many rows were added, changed, and neither; ``left_out`` had no room."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    left_out: int = 0

    def plus(self, other: "Tally") -> "Tally":
        """Both together."""
        return Tally(*map(sum, zip(self, other, strict=True)))


M = TypeVar("M", bound=Base)
Columns = Mapping[str, Any]
"""A row to store, by the names of its columns; other keys are passed over."""


def keep_runs(session: Session, runs: Iterable[Columns]) -> Tally:
    """Store these runs. Of two reports of one (cluster, job, start) the larger numbers of nodes and
    GPUs stand, and the end that :func:`triage.fleet.domain.exposure.weigh_ending` puts higher;
    among equals the earlier one, when work had stopped.
    """

    def rank_set(key: int) -> tuple[int, str]:
        found = session.get_one(NodeSet, key)
        return found.num_nodes, found.sha256

    def merge(one: Run, other: Run) -> dict[str, Any]:
        causes = [cause for cause in (one.cause, other.cause) if cause is not None]
        sets = {key for key in (one.node_set_id, other.node_set_id) if key is not None}
        return read_columns(max(one, other, key=_rank_end)) | {
            "cause": min(causes, default=None),
            "seen_at": max(one.seen_at, other.seen_at),
            "num_nodes": max(one.num_nodes, other.num_nodes),
            "num_gpus": max(one.num_gpus, other.num_gpus),
            "node_set_id": max(sets, key=rank_set) if len(sets) > 1 else next(iter(sets), None),
        }

    return keep_merged(session, Run, ("cluster_id", "job_id", "started_at"), runs, merge)


def _rank_end(run: Run) -> tuple[int, bool, float, str]:
    early = 0.0 if run.ended_at is None else -run.ended_at.timestamp()
    return weigh_ending(Ending(run.ending)), run.ended_at is not None, early, run.source


def keep_outages(session: Session, outages: Iterable[Columns]) -> tuple[Tally, int]:
    """Store these outages; a stored one gets an end that is reported now.

    Two reports of one are merged as ``complete_fields`` says, in whichever order they come. The
    second number counts reports that contradict another one of the same node and start.
    """
    contradictions = 0

    def merge(one: Outage, other: Outage) -> dict[str, Any]:
        nonlocal contradictions
        contradictions += is_contradiction(one, other)
        # By an order of all that is told, so that three reports give the same in any order.
        first, last = sorted((one, other), key=lambda row: (*order_reports(row), row.source))
        return read_columns(first) | complete_fields(first, last)

    tally = keep_merged(session, Outage, ("node_id", "from_at"), outages, merge)
    return tally, contradictions


def keep_repairs(session: Session, repairs: Iterable[Columns]) -> Tally:
    """Store these repairs. Of two texts of one repair the first in the alphabet stands."""

    def merge(one: Repair, other: Repair) -> dict[str, Any]:
        return read_columns(
            min(one, other, key=lambda repair: (not repair.text, repair.text, repair.source))
        )

    return keep_merged(session, Repair, ("node_id", "at", "action"), repairs, merge)


def keep_sightings(session: Session, seen: Iterable[Columns]) -> Tally:
    """Store what was seen: of each part and node the first and the last time, and of the slots the
    one that says more.
    """

    def merge(one: PartSighting, other: PartSighting) -> dict[str, Any]:
        slots = (one.slot, other.slot)
        return read_columns(one) | {
            "slot": max(slots, key=lambda slot: (_BUS in slot, bool(slot), slot == one.slot)),
            "first_at": min(one.first_at, other.first_at),
            "last_at": max(one.last_at, other.last_at),
        }

    return keep_merged(session, PartSighting, ("kind", "identity", "node_id"), seen, merge)


def keep_facts(session: Session, facts: Mapping[int, Mapping[str, str]]) -> Tally:
    """Facts of nodes by key: the last report of each stands, an empty one removes none."""
    changes: list[dict[str, Any]] = []
    query = select(Node.id, *(getattr(Node, name) for name in FACTS))
    for keys in split_into_batches(sorted(facts), _CHUNK):
        rows = session.execute(query.where(Node.id.in_(keys)))
        for key, *before in rows:
            now = dict(zip(FACTS, before, strict=True))
            after = now | {name: text for name, text in facts[key].items() if text}
            if after != now:
                changes.append({"id": key, **after})
    if changes:
        session.execute(update(Node), changes)
    return Tally(0, len(changes), len(facts) - len(changes))


def read_columns(row: Base) -> dict[str, Any]:
    """The columns of a row by name, without its id."""
    return {one.key: getattr(row, one.key) for one in row.__table__.columns if one.key != "id"}


def keep_merged(
    session: Session,
    model: type[M],
    key: tuple[str, ...],
    rows: Iterable[Columns],
    merge: Callable[[M, M], dict[str, Any]],
) -> Tally:
    """Insert new rows and complete stored ones.

    Rows with the same ``key`` are one; ``merge`` gives the columns of two reports of it, in either
    order.
    """
    names = [one.key for one in model.__table__.columns if one.key != "id"]
    wanted: dict[tuple[Any, ...], M] = {}
    num_rows = 0
    for told in rows:
        num_rows += 1
        row = model(**{name: told[name] for name in names if name in told})
        own = tuple(getattr(row, name) for name in key)
        wanted[own] = model(**merge(wanted[own], row)) if own in wanted else row

    def load(keys: list[tuple[Any, ...]]) -> dict[tuple[Any, ...], M]:
        """The stored ones, locked until the session ends.

        Of several rows of one part, which a database of 0.2 may have, the oldest is kept.
        """
        among = tuple_(*(getattr(model, name) for name in key))
        query = select(model).order_by(model.__table__.c.id)
        found: dict[tuple[Any, ...], M] = {}
        for some in split_into_batches(keys, _CHUNK):
            for row in lock_rows(session, query.where(among.in_(some))):
                found.setdefault(tuple(getattr(row, name) for name in key), row)
        return found

    stored = load(sorted(wanted))
    new = sorted(wanted.keys() - stored.keys())
    added = insert_new(session, model, [read_columns(wanted[own]) for own in new])
    if added < len(new):  # another session has inserted some of them meanwhile
        stored |= load(new)
    changed = 0
    for own, row in stored.items():
        before, after = read_columns(row), merge(row, wanted[own])
        changed += before != after
        # Written when the session is flushed, by id: a fixed order of row locks.
        for name in after:
            if after[name] != before[name]:
                setattr(row, name, after[name])
    session.flush()
    return Tally(added, changed, num_rows - added - changed)


def pack_keys(keys: Iterable[int]) -> bytes:
    """The spans of these keys, whatever their order; the same set gives the same bytes."""
    ordered = np.unique(np.fromiter(keys, np.int64))
    if not len(ordered):
        return b""
    first = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 2) != 1)
    lengths = np.diff(first, append=len(ordered))
    return np.column_stack([ordered[first], lengths]).astype(_WORD).tobytes()


def unpack_sets(sets: Sequence[bytes]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """(at, keys): ``keys[at[i]:at[i + 1]]`` are those of set ``i``, ascending."""
    words = np.frombuffer(b"".join(sets), _WORD).astype(np.int32).reshape(-1, 2)
    starts, lengths = words[:, 0], words[:, 1]
    # The first key of a span stands where the spans before it end.
    ends = np.cumsum(lengths, dtype=np.int64)
    num_keys = int(ends[-1]) if len(ends) else 0
    keys = np.repeat((starts - (ends - lengths)).astype(np.int32), lengths)
    keys += np.arange(num_keys, dtype=np.int32)
    span_at = np.cumsum([0, *(len(one) // (2 * _WORD.itemsize) for one in sets)])
    return np.concatenate([[0], ends])[span_at].astype(np.int64), keys


def keep_node_sets(session: Session, sets: Iterable[bytes]) -> dict[bytes, int]:
    """Packed sets and their keys; kept if they are new."""
    by_hash = {hashlib.sha256(spans).hexdigest(): spans for spans in sets}
    found = _load_known_sets(session, sorted(by_hash))
    if new := sorted(by_hash.keys() - found.keys()):
        rows = [
            {"sha256": key, "num_nodes": int(unpack_sets([by_hash[key]])[0][-1]),
             "spans": by_hash[key]}
            for key in new
        ]  # fmt: skip
        insert_missing(session, NodeSet, rows)
        found |= _load_known_sets(session, new)
    return {by_hash[sha256]: key for sha256, key in found.items()}


def _load_known_sets(session: Session, hashes: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for some in split_into_batches(hashes, _CHUNK):
        rows = session.execute(select(NodeSet.sha256, NodeSet.id).where(NodeSet.sha256.in_(some)))
        found |= {row.sha256: row.id for row in rows}
    return found


# Parts by the identity of their maker: in which nodes each was seen, first and last.


def list_reading_origins(
    session: Session, readings: Sequence[Reading]
) -> list[tuple[str | None, str | None, datetime, Reading]]:
    """(the node that sent the file, the token that it came with, when it came, its reading); files
    that are gone are left out.
    """
    wanted = {one.artifact_id: one for one in readings}
    found: list[tuple[str | None, str | None, datetime, Reading]] = []
    for ids in split_into_batches(sorted(wanted), _CHUNK):
        rows = session.execute(
            select(Artifact.id, Artifact.node, Upload.key_id, Artifact.created_at)
            .join(Upload, Artifact.upload_id == Upload.id)
            .where(Artifact.id.in_(ids))
        )
        found += [(node, key, at, wanted[name]) for name, node, key, at in rows]
    return found


def map_short_names(session: Session, cluster_id: int, names: Iterable[str]) -> dict[str, str]:
    """Each name as the scheduler has it: ``n12.example.com`` is ``n12`` where that is a node."""
    first = {name: name.partition(".")[0] for name in names}
    known = set(find_node_keys(session, cluster_id, {name for name in first.values() if name}))
    return {name: short if short in known else name for name, short in first.items()}


@dataclass(frozen=True, slots=True)
class PartStayView(WireForm):
    """A part in a node, from the first to the last time that anything said so."""

    kind: Annotated[str, SentAs(HardwareKind)]
    identity: str
    slot: Annotated[str, "Where in the node; empty where nobody says."]
    node: str
    cluster: Annotated[str, "Empty where nobody named one."]
    first_at: datetime
    last_at: datetime
    source: Annotated[str, "incident or import."]


def list_part_stays(
    session: Session,
    *,
    identities: Sequence[str] | None = None,
    node: str | None = None,
    cluster: str | None = None,
    limit: int = 50,
) -> list[PartStayView]:
    """Stays, the newest first: of parts with one of these identities, of a node, of a cluster."""
    stay = PartSighting
    times = (stay.first_at, stay.last_at, stay.source)
    query = (
        select(stay.kind, stay.identity, stay.slot, Node.name, Cluster.name, *times)
        .join(Node, stay.node_id == Node.id)
        .join(Cluster, Node.cluster_id == Cluster.id)
        .where(stay.kind.in_(list(HardwareKind)))
    )
    if identities is not None:
        query = query.where(stay.identity.in_(identities))
    if node is not None:
        query = query.where(Node.name == node)
    if cluster is not None:
        query = query.where(Cluster.name == cluster)
    newest = query.order_by(stay.last_at.desc(), stay.id.desc()).limit(limit)
    return [PartStayView(*row) for row in session.execute(newest)]
