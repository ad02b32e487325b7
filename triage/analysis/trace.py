"""Trace: the last operations of a few ranks, chosen and dated, for a picture over time.

A whole job is tens of millions of operations; what tells the story is the last seconds of
the suspects and of some ranks that wait for them. What is left out is counted. Times are
when the host issued an operation, and, where the recorder says it, when its end was
noticed; the offset of a node's clock is taken off.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from triage.analysis.clocks.rank_clocks import measure_node_clocks
from triage.analysis.snapshots.snapshot import Snapshot
from triage.analysis.waiting.case import Case
from triage.domain.arrays import I64
from triage.domain.rank_digest import FINISHED, MISSING, P2P, STARTED_BIT
from triage.domain.report import Answer
from triage.errors import UsageError

MAX_RANKS: Final = 64
_PEERS_A_GROUP: Final = 8
# A job that was given up later than this after its last operation is drawn only so far.
_LONGEST_WAIT_NS: Final = 24 * 3600 * 1_000_000_000


@dataclass(frozen=True, slots=True)
class Operation:
    """One rank's record of a collective or a send/recv; times in ns since the epoch.

    ``end_ns`` is when the next operation of the group was issued or this one's end was
    noticed, whichever came first; the dump for one that never ended. ``lasted_ms`` is None
    where nothing says how long it took. ``key`` is the same for all members of a collective.
    """

    rank: int
    stream: int
    name: str
    seq_id: int
    state: str
    start_ns: int
    end_ns: int
    lasted_ms: float | None
    p2p: bool
    key: tuple[int, int] | None
    sizes: str = ""
    stack: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """``operations`` by rank and start. ``streams`` names (rank, stream); ``nodes`` the ranks.

    ``ahead_ms`` is by how much a node's clock was set back. ``left_out`` are sentences.
    """

    operations: tuple[Operation, ...]
    streams: dict[tuple[int, int], str]
    nodes: dict[int, str | None]
    ahead_ms: dict[str, float]
    roles: dict[int, str]
    start_ns: int
    dumped_ns: int
    left_out: tuple[str, ...]


def build_trace(
    case: Case, answer: Answer, ranks: Iterable[int] | None, last_s: float, limit: int
) -> Trace:
    """The operations of ``ranks`` in the last ``last_s`` seconds, the newest ``limit`` of them.

    Raises :class:`UsageError` for ranks without a dump, and where nothing is left.
    """
    if limit < 1 or not last_s > 0:
        raise UsageError("a trace needs last_s above 0 and a limit of 1 or more")
    snapshot = case.snapshot
    chosen = _choose_ranks(case, answer) if ranks is None else sorted(set(ranks))
    indices = [snapshot.index_of[rank] for rank in chosen if rank in snapshot.index_of]
    if not indices:
        raise UsageError("not one of these ranks left a dump; name others, or none at all")
    ahead_ns = measure_node_clocks(snapshot, snapshot.node_of)
    last = [
        (digest.last_created_ns or 0, digest.last_stamp_ns or 0, _get_offset(snapshot, k, ahead_ns))
        for k in indices
        for digest in [snapshot.digests[k]]
    ]
    # Back from the last issue: a job that hangs for ten minutes issues nothing in them.
    issued = max(ns - offset for ns, _, offset in last)
    newest = max(issued, *(ns - offset for _, ns, offset in last))
    start_ns = issued - int(min(last_s, 1e9) * 1e9)
    columns, before = _select_window(snapshot, indices, ahead_ns, start_ns)
    cut = max(0, len(columns.created) - limit)
    kept = np.argsort(columns.created, kind="stable")[cut:]
    # When the record ends: the job's end where logs tell it, else the newest time in it.
    ends = [
        int(moment.at.timestamp() * 1e9)
        for moment in answer.timeline
        if moment.kind in ("stop", "end") and moment.at is not None
    ]
    dumped_ns = max([newest, *(ns for ns in ends if 0 <= ns - newest <= _LONGEST_WAIT_NS)])
    operations = [_make_operation(case, columns, int(k), dumped_ns) for k in kept]
    if not operations:
        raise UsageError("these dumps hold no dated operation; there is nothing to draw")
    operations.sort(key=lambda one: (one.rank, one.stream, one.start_ns, -one.end_ns))
    drawn = (int(snapshot.ranks[index]) for index in indices)
    left = len(snapshot.world) - len(indices)
    left_out = (
        (left, f"{left:,} ranks (name them with ranks=)"),
        (before, f"{before:,} operations earlier than the last {last_s:g} s (last_s=)"),
        (cut, f"the oldest {cut:,} operations beyond {limit:,} (limit=)"),
    )
    return Trace(
        operations=tuple(operations),
        streams={(one.rank, one.stream): _stream_name(snapshot, one) for one in operations},
        nodes={rank: snapshot.node_of(rank) for rank in drawn},
        ahead_ms={node: ns / 1e6 for node, ns in ahead_ns.items()},
        roles={s.rank: s.state for s in answer.ranks if s.state in ("culprit", "possible")},
        start_ns=min(one.start_ns for one in operations),
        dumped_ns=dumped_ns,
        left_out=tuple(text for number, text in left_out if number),
    )


def _choose_ranks(case: Case, answer: Answer) -> list[int]:
    """Suspects, then members of the groups in question, then ranks spread over the job."""
    snapshot = case.snapshot
    ranks = [rank for suspect in answer.suspects for rank in suspect.ranks[:_PEERS_A_GROUP]]
    for collective in answer.collectives:
        ranks += [*collective.missing[:_PEERS_A_GROUP], *collective.mismatched[:_PEERS_A_GROUP]]
        ranks += collective.waiting[:_PEERS_A_GROUP]
    for rank in ranks[:_PEERS_A_GROUP]:
        for group in case.groups_of(rank):
            ranks += snapshot.groups[group].ranks[:_PEERS_A_GROUP]
    spread = snapshot.ranks.tolist()
    ranks += spread[:: max(1, len(spread) // MAX_RANKS)]
    dumped_by = [rank for rank in dict.fromkeys(ranks) if rank in snapshot.index_of]
    return sorted(dumped_by[:MAX_RANKS])


def _get_offset(snapshot: Snapshot, index: int, ahead_ns: dict[str, int]) -> int:
    """How far the clock of a digest's node is ahead, ns."""
    return ahead_ns.get(snapshot.node_of(int(snapshot.ranks[index])) or "", 0)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Parallel arrays, one place an operation; ``until`` is the next issue of its stream."""

    index: I64
    created: I64
    until: I64
    stream: NDArray[np.int16]
    seq: NDArray[np.int32]
    sig: I64
    flags: NDArray[np.uint8]
    wait_us: NDArray[np.int32]


def _select_window(
    snapshot: Snapshot, indices: Sequence[int], ahead_ns: dict[str, int], start_ns: int
) -> tuple[_Columns, int]:
    """Dated operations from ``start_ns`` on, and how many are earlier.

    What is unfinished is kept, however early it was issued.
    """
    parts: list[tuple[NDArray[Any], ...]] = []
    before = 0
    for index in indices:
        past = snapshot.digests[index].history.read()
        dated = np.flatnonzero(past.created != MISSING)
        offset = _get_offset(snapshot, index, ahead_ns)
        created = past.created[dated].astype(np.int64) - offset
        until = _find_next_issue_ns(past.stream[dated], created)
        open_ = (past.flags[dated] & FINISHED) == 0
        near = (created >= start_ns) | open_
        before += int((~near).sum())
        kept = dated[near]
        parts.append(
            (
                np.full(len(kept), index),
                created[near],
                until[near],
                *(column[kept] for column in (past.stream, past.seq, past.sig)),
                *(column[kept] for column in (past.flags, past.wait_us)),
            )
        )
    return _Columns(*(np.concatenate(column) for column in zip(*parts, strict=True))), before


def _find_next_issue_ns(stream: NDArray[np.int16], created: I64) -> I64:
    """When the next operation of the same stream was issued; far away for the last."""
    until = np.full(len(created), np.iinfo(np.int64).max)
    for number in np.unique(stream):
        here = np.flatnonzero(stream == number)
        here = here[np.argsort(created[here], kind="stable")]
        until[here[:-1]] = created[here[1:]]
    return until


def _make_operation(case: Case, columns: _Columns, k: int, dumped_ns: int) -> Operation:
    snapshot = case.snapshot
    index = int(columns.index[k])
    rank = int(snapshot.ranks[index])
    flags, wait_us = int(columns.flags[k]), int(columns.wait_us[k])
    start = int(columns.created[k])
    finished = bool(flags & FINISHED)
    if not finished:
        end = max(dumped_ns, start)
    else:
        end = min(start + max(wait_us, 0) * 1000, int(columns.until[k]))
    stream, seq = int(columns.stream[k]), int(columns.seq[k])
    described = snapshot.describe(int(columns.sig[k]))
    p2p = bool(flags & P2P)
    group = snapshot.membership.stream_groups[index][stream] if stream >= 0 else -1
    stuck = snapshot.stuck[index]
    is_stuck = stuck is not None and stuck.group == group and stuck.seq == seq
    return Operation(
        rank=rank,
        stream=stream,
        name=described.op if described else ("send/recv" if p2p else "collective"),
        seq_id=seq,
        state="completed" if finished else "started" if flags & STARTED_BIT else "scheduled",
        start_ns=start,
        end_ns=max(end, start),
        lasted_ms=wait_us / 1e3 if finished and wait_us >= 0 else None,
        p2p=p2p,
        key=None if p2p or group < 0 else (int(group), seq),
        sizes="" if described is None else f"{described.sizes} {described.dtypes}".strip(),
        stack=(case.stack_text(rank) or "") if is_stuck else "",
    )


def _stream_name(snapshot: Snapshot, one: Operation) -> str:
    name, desc = snapshot.digests[snapshot.index_of[one.rank]].stream_names[one.stream]
    if desc and name and desc != name:
        return f"{desc} (pg {name})"
    return desc or (f"pg {name}" if name else "a group without a name")
