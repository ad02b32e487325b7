"""Results of checks come in: read by content, and kept for each part of a node."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Annotated, Final

from triage.clock import read_utc_now
from triage.domain.caller import Caller
from triage.domain.health import CheckResult
from triage.domain.wire import Count, WireForm
from triage.errors import Corrupt, Place, Unprocessable
from triage.fleet.services.health.bandwidth import hold_against_others
from triage.fleet.services.health.long_body import read_body_checks
from triage.fleet.store import checks as health
from triage.formats.health.check_format import MAX_BYTES
from triage.formats.health.reading import Checks, NotUnderstood
from triage.services.context import Context
from triage.services.uploads.receive import read_plain_text
from triage.store import jobs

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
        raise _make_refusal(
            f"cannot be read: {error}", "send the results of fewer nodes at once"
        ) from error
    if checks is None:
        from triage.formats.registry import CHECKS

        raise _make_refusal(
            "is no result of a check that is known here",
            "it may be one of: " + ", ".join(one.name for one in CHECKS),
        )
    if not checks.results:
        first = checks.not_understood[0].why if checks.not_understood else "nothing in it"
        raise _make_refusal(
            f"holds no result ({checks.format}): {first}", "send all that the tool prints"
        )
    now = read_utc_now()
    checks, notes = _select_usable(checks, target.at, now)
    by_node: dict[str, list[CheckResult]] = {}
    for one in checks.results:
        by_node.setdefault(one.node or "", []).append(one)
    if not by_node:
        raise _make_refusal("does not say which node it is of", "add ?node= with the node's name")
    if len(by_node) > _MOST_NODES:
        raise _make_refusal(f"names more than {_MOST_NODES:,} nodes", "send less at once")
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
) -> health.KeptResults:
    """Keep results, some nodes at a time, so that others have their turn to write in between.

    What was kept when it breaks off is known when it comes again.
    """
    with ctx.database.writing() as session:
        cluster_id = jobs.cluster_key(session, cluster)
    names = sorted(by_node)
    kept = health.KeptResults(0, 0, 0)
    for start in range(0, len(names), _NODES_AT_ONCE):
        part = names[start : start + _NODES_AT_ONCE]
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


def _make_refusal(why: str, hint: str) -> Unprocessable:
    return Unprocessable(f"the body {why}", hint=hint, places=(Place("body", why),))
