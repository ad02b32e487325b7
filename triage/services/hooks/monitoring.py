"""Hooks of monitoring systems: their notices are joined to the incidents they belong to.

A notice that names a job joins the job's incident. One that names only a node is kept, and
joins the incidents of jobs on that node that opened within a day before it, or open within a day
after it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Annotated, Final

from triage.clock import read_utc_now
from triage.domain.caller import Caller
from triage.domain.failure_match import Failure
from triage.domain.wire import WireForm
from triage.errors import NotAllowed, Refusal, TooMany, Unavailable
from triage.services.context import Context
from triage.services.hooks.keep import KeptNotices, keep_notices, make_notice, write_as_log
from triage.services.hooks.notices import AgentReport, Ignored, Line, Notices
from triage.services.incidents.announce import announce
from triage.services.uploads.ingest import take_text
from triage.services.uploads.received import Target
from triage.store.incidents import incidents
from triage.store.node_notices import NewNotice
from triage.store.views import IncidentView

_OVERLOADED: Final = frozenset({429, 500, 503, 507})


@dataclass(frozen=True, slots=True)
class HookOutcome(WireForm):
    """What became of the notices of one request; ``incidents`` without repeats, in order."""

    accepted: int
    ignored: tuple[Ignored, ...]
    incidents: tuple[IncidentView, ...]
    truncated: Annotated[int, "Alerts that the sender left out, by its own account."] = 0
    waiting: Annotated[
        int, "Of the accepted, those on nodes of no failed job yet: they are kept for one."
    ] = 0


def take_notices(
    ctx: Context,
    notices: Notices,
    caller: Caller | None = None,
    *,
    now: datetime | None = None,
) -> HookOutcome:
    """Announce the failures, then add the rest. The same notice again changes nothing.

    Raises :class:`Unavailable` and :class:`StorageFull`, upon which the sender tries again, and
    :class:`NotAllowed` where the token is to tell of none of it; what is wrong with one notice
    keeps out that one.
    """
    now = now or read_utc_now()
    caller = caller or Caller()
    touched: dict[str, IncidentView] = {}
    ignored = list(notices.ignored)
    outside: NotAllowed | None = None
    accepted = 0
    on_nodes: list[NewNotice] = []
    acts: list[tuple[str, Callable[[], None]]] = [
        (ref, partial(_report, ctx, replace(one, caller=caller), now, touched))
        for ref, one in notices.failures
    ]
    of_nodes: list[Line | AgentReport] = [*notices.reports]
    for line in notices.lines:
        if line.job_id:
            acts.append((line.ref, partial(_add_line, ctx, line, line.job_id, caller, touched)))
        else:
            of_nodes.append(line)
    acts += [(one.ref, partial(_add_new, ctx, one, caller, on_nodes)) for one in of_nodes]
    for ref, act in acts:
        try:
            act()
            accepted += 1
        except Refusal as refusal:
            if refusal.status in _OVERLOADED:
                raise _convert_to_unavailable(refusal) from refusal
            if isinstance(refusal, NotAllowed):
                outside = outside or refusal
            ignored.append(Ignored(ref, refusal.detail))
    if outside is not None and not accepted:
        raise outside
    kept = keep_notices(ctx, on_nodes, caller, now) if on_nodes else KeptNotices((), 0)
    touched = {one.id: one for one in (*touched.values(), *kept.incidents)}
    return HookOutcome(
        accepted, tuple(ignored), tuple(touched.values()), notices.truncated, kept.num_waiting
    )


def _report(
    ctx: Context, failure: Failure, now: datetime, touched: dict[str, IncidentView]
) -> None:
    """Announce a failure. Raises what :func:`announce` raises."""
    incident = announce(ctx, failure, now=now)
    touched[incident.id] = incident


def _convert_to_unavailable(refusal: Refusal) -> Refusal:
    """The same as a 503 where it is a 429: Alertmanager gives a notice up for that."""
    if refusal.status != TooMany.status:
        return refusal
    return Unavailable(refusal.detail, hint=refusal.hint, retry_after_s=refusal.retry_after_s)


def _add_line(
    ctx: Context, line: Line, job_id: str, caller: Caller, touched: dict[str, IncidentView]
) -> None:
    """Take in a line that names its job. Raises :class:`Refusal` where it is kept out."""
    caller.check(None, job_id=job_id, nodes=[line.node])
    target = Target(
        job_id=job_id,
        node=line.node,
        rank=None,
        kind="kernel_log",
        filename=f"{line.source}.log",
        caller=caller,
    )
    taken = take_text(ctx, target, write_as_log(line))
    if taken.artifact.incident_id not in touched:
        with ctx.database.reading() as session:
            found = incidents.find(session, taken.artifact.incident_id)
        if found is not None:
            touched[found.id] = found


def _add_new(
    ctx: Context, one: Line | AgentReport, caller: Caller, on_nodes: list[NewNotice]
) -> None:
    """A notice on a node to ``on_nodes``. Raises :class:`Refusal` where it is kept out."""
    caller.check(None, nodes=[one.node])
    on_nodes.append(make_notice(ctx, one))
