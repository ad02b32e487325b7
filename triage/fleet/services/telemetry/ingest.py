"""Telemetry comes in: read as a stream, summarised by the hour, and never kept as it came.

What an upload tells of the days of nodes is added to what is stored of them.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Annotated, Final

import numpy as np
from sqlalchemy.orm import Session

from triage.clock import read_utc_now
from triage.domain.batched import split_into_batches
from triage.domain.caller import Caller
from triage.domain.hardware import HardwareKind, PartIdentity, make_part_identity
from triage.domain.wire import Count, WireForm
from triage.errors import ArtifactError
from triage.fleet.domain.exposure import MOST_GPUS_OF_NODE, PartSeen
from triage.fleet.services.exposure.writer import ExposureWriter
from triage.fleet.services.telemetry.cells import (
    Cells,
    SeriesName,
    find_last_values,
    is_counter,
    join_cells,
    merge_cells,
    pack_day,
    summarize_day,
    unpack_day,
)
from triage.fleet.services.telemetry.summary import NodeDay, OneDay, Summary
from triage.fleet.store import telemetry
from triage.parsers.telemetry.samples import GpuHomes, Samples, Tally
from triage.services.context import Context
from triage.services.kept import KeptValues
from triage.services.uploads.receive import peek_body, refuse_body
from triage.store import jobs

# Clocks that are ahead by more are wrong.
_AHEAD: Final = timedelta(hours=1)
_MOST_NODES: Final = 50_000
_MAX_LISTED: Final = 50
# Days of nodes in one transaction: others wait for no longer than that takes.
_DAYS_AT_ONCE: Final = 128
_Series = tuple[list[SeriesName], Cells]
# Telemetry comes every minute and parts move within days: a node whose GPUs are what they were is
# written once in so long.
_AGAIN: Final = timedelta(hours=6)
_AT_ONCE: Final = 2_000
_Gpus = frozenset[PartIdentity]
# By cluster and name of a node: its GPUs, and until when they were seen.
_lately: KeptValues[tuple[str, str], tuple[_Gpus, datetime]] = KeptValues(50_000)


@dataclass(frozen=True, slots=True)
class TelemetryTarget:
    """What a request says of the samples it brings; ``node`` is whose they are where they do
    not say.
    """

    node: str | None = None
    cluster: str = ""
    caller: Caller = field(default_factory=Caller)


@dataclass(frozen=True, slots=True)
class UnreadLines:
    """Lines that were not understood, for one reason."""

    line: Annotated[int, "The first of them."]
    lines: Count
    why: str


@dataclass(frozen=True, slots=True)
class TakenTelemetry(WireForm):
    """What was read, and what of it was new.

    Samples are counted once the throttle reasons of a time are one.
    """

    format: Annotated[str, "Known by its content: exposition, query_result, table, ..."]
    samples: Count
    kept: Annotated[Count, "Those that told something new."]
    repeated: Annotated[Count, "Those that were told before."]
    outside: Annotated[Count, "Of times, or with values, that are not kept."]
    nameless: Annotated[Count, "Of no node."]
    nodes: Count
    series: Count
    node_days: Count
    first_at: datetime | None
    last_at: datetime | None
    skipped: tuple[UnreadLines, ...]
    notes: tuple[str, ...]


def take_telemetry(
    ctx: Context, target: TelemetryTarget, read: Callable[[int], bytes], encoding: str | None
) -> TakenTelemetry:
    """Read a body of samples and keep their hours; the same samples again change nothing.

    Memory grows with the number of series, not with that of samples. What was written stays
    when the body breaks off later: sent again, it is known. Raises :class:`Unprocessable` for
    what is no telemetry, and for samples of which not one can be used, and :class:`NotAllowed` for
    what the token is not to say.
    """
    settings = ctx.settings
    target = _restrict_target(target)
    head, body = peek_body(read, encoding, settings.max_artifact_bytes)
    from triage.formats.registry import identify_telemetry

    format_ = identify_telemetry(head)
    if format_ is None:
        raise refuse_body(
            "is no telemetry that is known here",
            "send a scrape of an exporter, an answer of the Prometheus API, nvidia-smi's CSV, or"
            " a table with a column of times",
        )
    tally = Tally()
    try:
        batches = format_.read_samples(body.read, tally, target.node)
        summary, num_days = summarize_batches(ctx, target, batches)
    except ArtifactError as error:
        raise refuse_body(
            f"cannot be read: {error}", "check the file, and send it again"
        ) from error
    if not summary.kept and not summary.repeated:
        raise refuse_body(_explain_no_sample(tally, summary), "nothing of it was kept")
    first_at, last_at = _convert_moment(summary.first_us), _convert_moment(summary.last_us)
    if first_at is not None and last_at is not None:
        key_id = target.caller.key_id
        _keep_gpus(ctx, target.cluster, tally.gpus, key_id, first_at, last_at, read_utc_now())
    nodes = [node for node in summary.node_numbers if node]
    skipped = [UnreadLines(line, n, why) for why, (n, line) in sorted(tally.skipped.items())]
    return TakenTelemetry(
        format=format_.name,
        samples=tally.samples,
        kept=summary.kept,
        repeated=summary.repeated,
        outside=summary.outside,
        nameless=summary.nameless,
        nodes=len(nodes),
        series=len(summary.numbers),
        node_days=num_days,
        first_at=first_at,
        last_at=last_at,
        skipped=tuple(skipped[:_MAX_LISTED]),
        notes=tuple(_list_notes(tally, summary)),
    )


def _restrict_target(target: TelemetryTarget) -> TelemetryTarget:
    """What a request says, and what its token says where the request says nothing."""
    node = target.node or target.caller.only_node
    cluster = target.caller.check(target.cluster, nodes=[] if node is None else [node])
    return replace(target, node=node, cluster=cluster or "")


def summarize_batches(
    ctx: Context, target: TelemetryTarget, batches: Iterator[Samples]
) -> tuple[Summary, int]:
    """Take all batches in and write their days; how many days of nodes were written."""
    now = read_utc_now()
    caller = target.caller
    with ctx.database.writing() as session:
        cluster_id = jobs.cluster_key(session, target.cluster)
    since = now - timedelta(days=ctx.settings.keep_telemetry_days)
    summary = Summary(
        since_us=int(since.timestamp() * 1e6),
        until_us=int((now + _AHEAD).timestamp() * 1e6),
        known=lambda wanted: _load_known_days(ctx, cluster_id, wanted),
    )
    written: set[tuple[str, int]] = set()
    for batch in batches:
        summary.add(batch)
        caller.check(target.cluster, nodes=filter(None, summary.node_numbers))
        if len(summary.node_numbers) > _MOST_NODES:
            raise refuse_body(f"names more than {_MOST_NODES:,} nodes", "send less at once")
        if summary.full:
            written |= _put(ctx, cluster_id, summary, caller.key_id)
    written |= _put(ctx, cluster_id, summary, caller.key_id)
    with ctx.database.writing() as session:
        jobs.note_nodes_seen(session, cluster_id, summary.node_numbers, now)
        telemetry.set_racks(session, cluster_id, summary.racks)
    return summary, len(written)


def _put(
    ctx: Context, cluster_id: int, summary: Summary, key_id: str | None
) -> set[tuple[str, int]]:
    days = summary.take()
    _write_days(ctx, cluster_id, days, key_id)
    return {key for key, _, _ in days}


def _load_known_days(ctx: Context, cluster_id: int, wanted: Sequence[NodeDay]) -> list[OneDay]:
    """What is stored of these days of nodes."""
    with ctx.database.reading() as session:
        found = telemetry.load_packs(session, cluster_id, wanted)
    return [(key, *unpack_day(data, key[1])) for key, data in found.items()]


def _write_days(ctx: Context, cluster_id: int, days: list[OneDay], key_id: str | None) -> None:
    """Add days of nodes to what is stored, a number of them in one transaction each.

    The day after a written one is summed up again too: its counters grew since. ``key_id`` is the
    token that brings them.
    """
    days.sort(key=itemgetter(0))
    for part in split_into_batches(days, _DAYS_AT_ONCE):
        some = {key: (names, cells) for key, names, cells in part}
        with ctx.database.writing() as session:
            _write_some(session, cluster_id, some, key_id)


def _write_some(
    session: Session, cluster_id: int, new: Mapping[NodeDay, _Series], key_id: str | None
) -> None:
    around = [{(node, day + far) for node, day in new} - new.keys() for far in (1, -1)]
    nexts, befores = (telemetry.load_packs(session, cluster_id, sorted(one)) for one in around)
    locked = telemetry.lock_days(session, cluster_id, sorted({*new, *nexts}))
    whole = {key: unpack_day(data, key[1]) for key, data in befores.items()}
    for key, row in locked.items():
        parts = [] if row.cells is None else [unpack_day(row.cells, key[1])]
        whole[key] = _combine_parts([*parts, *([new[key]] if key in new else [])])
    rows = []
    for node, day in sorted(locked):
        row, (names, cells) = locked[node, day], whole[node, day]
        before = whole.get((node, day - 1))
        last = {} if before is None else find_last_values(*before)
        is_changed = (node, day) in new or row.cells is None
        data = pack_day(names, cells, day) if is_changed else row.cells or b""
        rows.append((row, summarize_day(names, cells, last), data))
    telemetry.store_days(session, rows, {locked[key].id for key in new}, key_id)


def _combine_parts(parts: Sequence[_Series]) -> _Series:
    """Several of one day as one, with one name for each series, in order."""
    names = sorted({name for named, _ in parts for name in named})
    number = {name: index for index, name in enumerate(names)}
    counts = np.array([is_counter(metric) for metric, _, _ in names], np.bool_)
    for named, cells in parts:
        numbers = np.array([number[name] for name in named] or [0], np.int64)
        cells["series"] = numbers[cells["series"]]
    return names, merge_cells(join_cells([cells for _, cells in parts]), counts)


def prune_telemetry(ctx: Context, older_than_days: float) -> int:
    """Remove days of telemetry older than that; how many days of nodes were removed."""
    before = read_utc_now() - timedelta(days=older_than_days)
    removed = 0
    while True:
        with ctx.database.writing() as session:
            some = telemetry.drop_before(session, before)
        removed += some
        if not some:
            return removed


def _list_notes(tally: Tally, summary: Summary) -> list[str]:
    found = list(tally.notes)
    if tally.zoneless:
        found.append(f"{tally.zoneless:,} times name no zone: taken for UTC")
    if summary.outside:
        found.append(f"{summary.outside:,} samples of times, or with values, that are not kept")
    if summary.nameless:
        found.append(f"{summary.nameless:,} samples name no node: add ?node= with its name")
    return found


def _explain_no_sample(tally: Tally, summary: Summary) -> str:
    if summary.outside:
        return f"has samples of times that are not kept alone ({summary.outside:,})"
    if summary.nameless:
        return "does not say which node it is of: add ?node= with the node's name"
    if tally.skipped:
        why, (count, line) = min(tally.skipped.items(), key=lambda one: one[1][1])
        return f"holds no sample: {count:,} lines, the first is {line}: {why}"
    return "holds no sample of a metric that is read"


def _convert_moment(us: int | None) -> datetime | None:
    return None if us is None else datetime.fromtimestamp(us / 1e6, UTC)


def _keep_gpus(
    ctx: Context,
    cluster: str,
    homes: GpuHomes,
    key_id: str | None,
    first_at: datetime,
    last_at: datetime,
    now: datetime,
) -> None:
    """Keep the GPUs of each node, seen from ``first_at`` to ``last_at``.

    A UUID that two nodes of one body have says nothing of when it was where, and is left out.
    """
    rows: list[PartSeen] = []
    for node, gpus in _group_by_node(homes).items():
        known, at = _lately.find(ctx.database, (cluster, node), within_s=math.inf) or (None, now)
        if len(gpus) <= MOST_GPUS_OF_NODE and (known != gpus or abs(last_at - at) >= _AGAIN):
            _lately.keep(ctx.database, (cluster, node), (gpus, last_at))
            rows += [PartSeen(node, gpu, first_at, last_at, cluster) for gpu in gpus]
    rows.sort(key=lambda row: row.part.identity)
    writer = ExposureWriter(now, key_id)
    for some in split_into_batches(rows, _AT_ONCE):
        with ctx.database.writing() as session:
            writer.keep(session, some, now)


def _group_by_node(homes: GpuHomes) -> Mapping[str, _Gpus]:
    found: dict[str, set[PartIdentity]] = {}
    for uuid, home in homes.of_uuid.items():
        part = None if home is None else make_part_identity(HardwareKind.GPU, uuid, home[1])
        if home is not None and home[0] and part is not None:
            found.setdefault(home[0], set()).add(part)
    return {node: frozenset(gpus) for node, gpus in found.items()}
