"""Results of checks come in: read by content, and kept for each part of a node."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from statistics import median
from typing import Annotated, Final

from sqlalchemy.orm import Session

from triage.clock import read_utc_now
from triage.domain.batched import split_into_batches
from triage.domain.caller import Caller
from triage.domain.category import Category
from triage.domain.health import Bandwidth, CheckResult, Outcome
from triage.domain.wire import Count, WireForm
from triage.errors import Corrupt
from triage.fleet.services.health.long_body import read_body_checks
from triage.fleet.store import checks as health
from triage.fleet.store.exposure import Tally
from triage.formats.health.check_format import MAX_BYTES
from triage.formats.health.reading import Checks, NotUnderstood
from triage.services.context import Context
from triage.services.uploads.receive import read_plain_text, refuse_body
from triage.store import jobs

# A node's bandwidth beside that of other nodes: weak evidence, a warning at most.
#
# NCCL tests say nothing of what is right. Nodes with the same model of GPU that ran the same test
# with the same size on as many ranks should measure about the same; one that is clearly below the
# median of the others has a link or a GPU that is not as theirs. What else differs (versions of
# NCCL, settings, a job beside it) is not in the output, so nobody fails by it.

_CHECK: Final = "nccl.busbw"
# A median of fewer says little of what is usual.
_LEAST_OTHERS: Final = 5
# Runs on one node differ by some per cent; a missing NVLink of eighteen costs as much.
_BELOW: Final = 0.9
# Beyond what the others scatter by: five median absolute deviations.
_DEVIATIONS: Final = 5.0
# Where more are as slow, there are two kinds of nodes, or of settings, and no odd one.
_MOST_SLOW: Final = 0.2
_GIB: Final = 1 << 30

_Key = tuple[str, str, int, int]


def hold_against_others(session: Session, cluster_id: int, results: Iterable[CheckResult]) -> int:
    """Warn of each node of the cluster that is slower than the others in the tests that
    ``results`` are of; the number of rows that have changed.

    All are compared again, so the order in which results come does not matter. A node that its
    own report calls slow keeps that.
    """
    wanted = {_make_key(result.bandwidth) for result in results if result.bandwidth is not None}
    if not wanted:
        return 0
    by_key: dict[_Key, list[health.NodeBandwidth]] = {}
    for row in health.list_bandwidths(session, cluster_id, _CHECK, _MOST_NODES):
        if (key := _make_key(row.bandwidth)) in wanted:
            by_key.setdefault(key, []).append(row)
    changed = 0
    for rows in by_key.values():
        usual = find_slow_nodes({row.node: row.bandwidth.gbps for row in rows})
        for row in rows:
            outcome, detail, category = row.outcome, row.detail, row.category
            if row.node in usual and outcome is Outcome.PASS:
                outcome, category = Outcome.WARN, str(Category.NVLINK)
                detail = _describe_slow(row.bandwidth, usual[row.node], len(rows))
            if (str(outcome), detail) != row.shown:
                health.show_result(session, row.row_id, outcome, detail, category)
                changed += 1
    return changed


def find_slow_nodes(gbps: Mapping[str, float]) -> dict[str, float]:
    """Node -> the median of all, in GB/s, for those that are clearly below it."""
    if len(gbps) <= _LEAST_OTHERS:
        return {}
    usual = median(gbps.values())
    scatter = median(abs(value - usual) for value in gbps.values())
    bound = min(_BELOW * usual, usual - _DEVIATIONS * scatter)
    found = {node: usual for node, own in gbps.items() if own < bound}
    return found if len(found) <= _MOST_SLOW * len(gbps) else {}


def _describe_slow(own: Bandwidth, usual: float, num_nodes: int) -> str:
    return (
        f"bus bandwidth {own.gbps:.1f} GB/s, the median of {num_nodes} nodes is"
        f" {usual:.1f} GB/s ({own.test}, {_format_size(own.size_bytes)}, {own.num_ranks} ranks)"
    )


def _format_size(num_bytes: int) -> str:
    return f"{num_bytes / _GIB:g} GiB" if num_bytes >= _GIB else f"{num_bytes / (1 << 20):g} MiB"


def _make_key(one: Bandwidth) -> _Key:
    return one.test, one.gpu, one.size_bytes, one.num_ranks


# A clock that is ahead by less is a clock; a result from further ahead is dated when it came.
_AHEAD: Final = timedelta(hours=1)
_MAX_NODE: Final = 256
_MAX_LISTED: Final = 50
# A fabric's counters name some thousand.
_MOST_NODES: Final = 5_000
_NODES_AT_ONCE: Final = 50


@dataclass(frozen=True, slots=True)
class CheckTarget:
    """What a request says of the results it brings.

    ``node`` is whose they are where they do not say; ``at`` is when they were taken.
    ``busbw_gbps`` is the bus bandwidth in GB/s that NCCL tests are held against.
    """

    node: str | None = None
    at: datetime | None = None
    cluster: str = ""
    busbw_gbps: float | None = None
    caller: Caller = field(default_factory=Caller)


@dataclass(frozen=True, slots=True)
class TakenChecks(WireForm):
    """What was read, and what of it was news."""

    format: Annotated[str, "Known by its content: dcgm_diag, nvidia_smi_q, ibstat, ..."]
    results: Count
    outcomes: dict[str, Count]
    nodes: Count
    added: Count
    changed: Count
    unchanged: Count
    skipped: tuple[NotUnderstood, ...]
    num_skipped: Count
    notes: tuple[str, ...]


def take_checks(
    ctx: Context, target: CheckTarget, read: Callable[[int], bytes], encoding: str | None
) -> TakenChecks:
    """Read a body of results and keep them; the same again changes nothing.

    Raises :class:`Unprocessable` for what is no result of a check that is known, or of a node
    that nobody names, and :class:`NotAllowed` for what the token is not to say.
    """
    caller = target.caller
    target = replace(target, node=target.node or caller.only_node)
    names = [] if target.node is None else [target.node]
    cluster = caller.check(target.cluster, nodes=names) or ""
    try:
        checks = read_body_checks(
            read_plain_text(read, encoding, MAX_BYTES),
            node=target.node,
            busbw_gbps=target.busbw_gbps,
        )
    except Corrupt as error:
        raise refuse_body(
            f"cannot be read: {error}", "send the results of fewer nodes at once"
        ) from error
    if checks is None:
        from triage.formats.registry import CHECKS

        raise refuse_body(
            "is no result of a check that is known here",
            "it may be one of: " + ", ".join(one.name for one in CHECKS),
        )
    if not checks.results:
        first = checks.not_understood[0].why if checks.not_understood else "nothing in it"
        raise refuse_body(
            f"holds no result ({checks.format}): {first}", "send all that the tool prints"
        )
    now = read_utc_now()
    checks, notes = _select_usable(checks, target.at, now)
    by_node: dict[str, list[CheckResult]] = {}
    for one in checks.results:
        by_node.setdefault(one.node or "", []).append(one)
    if not by_node:
        raise refuse_body("does not say which node it is of", "add ?node= with the node's name")
    if len(by_node) > _MOST_NODES:
        raise refuse_body(f"names more than {_MOST_NODES:,} nodes", "send less at once")
    caller.check(target.cluster, nodes=by_node)
    kept = _keep(ctx, cluster, by_node, now, caller.key_id)
    if kept.left_out:
        notes.append(
            f"{kept.left_out:,} new checks were left out:"
            f" a node has {health.MOST_OF_NODE:,} at most"
        )
    return TakenChecks(
        format=checks.format,
        results=len(checks.results),
        outcomes=dict(Counter(str(one.outcome) for one in checks.results)),
        nodes=len(by_node),
        added=kept.added,
        changed=kept.changed,
        unchanged=kept.unchanged,
        skipped=checks.not_understood[:_MAX_LISTED],
        num_skipped=checks.num_not_understood,
        notes=tuple(notes),
    )


def _keep(
    ctx: Context,
    cluster: str,
    by_node: Mapping[str, Sequence[CheckResult]],
    now: datetime,
    key_id: str | None,
) -> Tally:
    """Keep results, some nodes at a time, so that others have their turn to write in between.

    What was kept when it breaks off is known when it comes again.
    """
    with ctx.database.writing() as session:
        cluster_id = jobs.cluster_key(session, cluster)
    kept = Tally()
    for part in split_into_batches(sorted(by_node), _NODES_AT_ONCE):
        results = [one for name in part for one in by_node[name]]
        with ctx.database.writing() as session:
            jobs.note_nodes_seen(session, cluster_id, part, now)
            kept = kept.plus(health.keep(session, cluster_id, results, now, key_id))
    with ctx.database.writing() as session:
        results = [one for found in by_node.values() for one in found]
        hold_against_others(session, cluster_id, results)
    return kept


def _select_usable(checks: Checks, at: datetime | None, now: datetime) -> tuple[Checks, list[str]]:
    """The results of nodes that can be, each with its time or that of the request."""
    notes: list[str] = []
    kept: list[CheckResult] = []
    nameless = ahead = 0
    for one in checks.results:
        node = one.node or ""
        if not node or len(node) > _MAX_NODE or not node.isprintable():
            nameless += 1
            continue
        when = one.at or at
        if when is not None and when > now + _AHEAD:
            ahead, when = ahead + 1, None
        kept.append(replace(one, at=when))
    if nameless and kept:
        notes.append(f"{nameless:,} results name no node: add ?node= with the node's name")
    if ahead:
        notes.append(f"{ahead:,} results are of a time to come: taken for now")
    listed = checks.not_understood
    if nameless:
        listed = (*listed, NotUnderstood(None, f"{nameless:,} results of no node"))
    return replace(checks, results=tuple(kept), not_understood=listed), notes
