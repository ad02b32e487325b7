"""Telemetry comes in: read as a stream, summarised by the hour, and never kept as it came."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from triage.clock import read_utc_now
from triage.domain.body import Body
from triage.domain.caller import Caller
from triage.domain.wire import Count, WireForm
from triage.errors import ArtifactError, Place, Unprocessable
from triage.fleet.services.telemetry.gpus import keep_gpus
from triage.fleet.services.telemetry.parquet import convert_parquet_to_text
from triage.fleet.services.telemetry.summary import Summary
from triage.fleet.services.telemetry.write import load_known_days, write_days
from triage.fleet.store import telemetry
from triage.formats.registry import identify_telemetry
from triage.formats.telemetry import PARQUET, TABLE
from triage.parsers.telemetry.samples import Samples, Tally
from triage.services.context import Context
from triage.services.uploads.plain_body import peek_body
from triage.store import jobs

# Clocks that are ahead by more are wrong.
_AHEAD: Final = timedelta(hours=1)
_MOST_NODES: Final = 50_000
_MAX_LISTED: Final = 50
_PIECE: Final = 1 << 20


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
    format_ = identify_telemetry(head)
    if format_ is None:
        raise _make_refusal(
            "is no telemetry that is known here",
            "send a scrape of an exporter, an answer of the Prometheus API, nvidia-smi's CSV, a"
            " table with a column of times, or Parquet",
        )
    tally = Tally()
    try:
        with ExitStack() as stack:
            if format_ is PARQUET:
                body = stack.enter_context(
                    convert_parquet_to_text(
                        body, settings.parse_memory_bytes, settings.parse_deadline_s
                    )
                )
            reader = (TABLE if format_ is PARQUET else format_).load_reader()
            batches = reader(_Filled(body), tally, target.node)
            summary, num_days = summarize_batches(ctx, target, batches)
    except ArtifactError as error:
        raise _make_refusal(
            f"cannot be read: {error}", "check the file, and send it again"
        ) from error
    if not summary.kept and not summary.repeated:
        raise _make_refusal(_explain_no_sample(tally, summary), "nothing of it was kept")
    first_at, last_at = _convert_moment(summary.first_us), _convert_moment(summary.last_us)
    if first_at is not None and last_at is not None:
        key_id = target.caller.key_id
        keep_gpus(ctx, target.cluster, tally.gpus, key_id, first_at, last_at, read_utc_now())
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
        series=len(summary.names),
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
        known=lambda wanted: load_known_days(ctx, cluster_id, wanted),
    )
    written: set[tuple[str, int]] = set()
    for batch in batches:
        summary.add(batch)
        caller.check(target.cluster, nodes=filter(None, summary.node_numbers))
        if len(summary.node_numbers) > _MOST_NODES:
            raise _make_refusal(f"names more than {_MOST_NODES:,} nodes", "send less at once")
        if summary.full:
            written |= _put(ctx, cluster_id, summary, caller.key_id, end=False)
    written |= _put(ctx, cluster_id, summary, caller.key_id, end=True)
    with ctx.database.writing() as session:
        jobs.note_nodes_seen(session, cluster_id, summary.node_numbers, now)
        telemetry.set_racks(session, cluster_id, summary.racks)
    return summary, len(written)


def _put(
    ctx: Context, cluster_id: int, summary: Summary, key_id: str | None, *, end: bool
) -> set[tuple[str, int]]:
    days = summary.take(end=end)
    write_days(ctx, cluster_id, days, key_id)
    return {key for key, _, _ in days}


class _Filled:
    """A body as the readers of telemetry take it: whole pieces, fewer bytes at the end alone."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.rest = b""

    def fill(self, view: memoryview) -> int:
        """Fill ``view`` as far as the body goes."""
        filled = 0
        while filled < len(view):
            part = self.rest or self.body.read(min(len(view) - filled, _PIECE))
            if not part:
                break
            took = min(len(part), len(view) - filled)
            view[filled : filled + took] = part[:took]
            self.rest = part[took:]
            filled += took
        return filled


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


def _make_refusal(why: str, hint: str) -> Unprocessable:
    return Unprocessable(f"the body {why}", hint=hint, places=(Place("body", why),))
