"""Hooks of monitoring systems: their notices are joined to the incidents they belong to.

A notice that names a job joins the job's incident. One that names only a node joins the
newest incident of a job on that node within a day; when there is none, nothing has failed
there that anybody told us of, and the notice is kept out, with that said.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Final

from triage.clock import utc_now
from triage.domain.caller import Caller
from triage.domain.report import iso_utc
from triage.domain.wire import WireForm
from triage.errors import NotAllowed, NotFound, Refusal, TooMany, Unavailable
from triage.render.words.clean import one_line
from triage.services.context import Context
from triage.services.hooks.notices import Ignored, Line, Notices
from triage.services.incidents.announce import Failure, announce
from triage.services.uploads.ingest import take_text
from triage.services.uploads.received import Target
from triage.store.incidents import incidents
from triage.store.views import IncidentView

__all__ = ["HookOutcome", "hear"]

RECENT: Final = timedelta(days=1)
OVERLOADED: Final = frozenset({429, 500, 503, 507})


@dataclass(frozen=True, slots=True)
class HookOutcome(WireForm):
    """What became of the notices of one request; ``incidents`` without repeats, in order."""

    accepted: int
    ignored: tuple[Ignored, ...]
    incidents: tuple[IncidentView, ...]
    truncated: Annotated[int, "Alerts that the sender left out, by its own account."] = 0


def hear(
    ctx: Context,
    notices: Notices,
    caller: Caller | None = None,
    *,
    now: datetime | None = None,
) -> HookOutcome:
    """Announce the failures, then add the lines. The same notice again changes nothing.

    Raises :class:`Unavailable` and :class:`StorageFull`, upon which the sender tries again, and
    :class:`NotAllowed` where the token is to tell of none of it; what is wrong with one notice
    keeps out that one.
    """
    now = now or utc_now()
    caller = caller or Caller()
    touched: dict[str, IncidentView] = {}
    ignored = list(notices.ignored)
    outside: NotAllowed | None = None
    accepted = 0
    acts = [
        *(
            (ref, partial(report, ctx, replace(one, caller=caller)))
            for ref, one in notices.failures
        ),
        *((line.ref, partial(add_line, ctx, line, caller)) for line in notices.lines),
    ]
    for ref, act in acts:
        try:
            act(now, touched)
            accepted += 1
        except Refusal as refusal:
            if refusal.status in OVERLOADED:
                raise later(refusal) from refusal
            if isinstance(refusal, NotAllowed):
                outside = outside or refusal
            ignored.append(Ignored(ref, refusal.detail))
    if outside is not None and not accepted:
        raise outside
    return HookOutcome(accepted, tuple(ignored), tuple(touched.values()), notices.truncated)


def report(ctx: Context, failure: Failure, now: datetime, touched: dict[str, IncidentView]) -> None:
    """Announce a failure. Raises what :func:`announce` raises."""
    incident = announce(ctx, failure, now=now)
    touched[incident.id] = incident


def later(refusal: Refusal) -> Refusal:
    """The same as a 503 where it is a 429: Alertmanager gives a notice up for that."""
    if refusal.status != TooMany.status:
        return refusal
    return Unavailable(refusal.detail, hint=refusal.hint, retry_after_s=refusal.retry_after_s)


def add_line(
    ctx: Context, line: Line, caller: Caller, now: datetime, touched: dict[str, IncidentView]
) -> None:
    """Take a line in. Raises :class:`Refusal` where it is kept out."""
    caller.check(None, job_id=line.job_id, nodes=[line.node])
    incident: IncidentView | None = None
    if line.job_id is None:
        with ctx.database.reading() as session:
            incident = incidents.newest_of_node(session, line.node, now - RECENT, caller.cluster)
        if incident is None:
            raise NotFound(f"no job on {line.node} has failed within a day")
    target = Target(
        job_id=line.job_id or (incident.job_id if incident else ""),
        node=line.node,
        rank=None,
        kind="kernel_log",
        filename=f"{line.source}.log",
        incident=incident.id if incident else None,
        caller=caller,
    )
    taken = take_text(ctx, target, as_log(line))
    if taken.artifact.incident_id not in touched:
        with ctx.database.reading() as session:
            found = incidents.find(session, taken.artifact.incident_id)
        if found is not None:
            touched[found.id] = found


def as_log(line: Line) -> bytes:
    """``<time> <node> kernel: <text>``: the form that every reader of kernel logs knows."""
    at = iso_utc(line.at)
    # A blank in a name would end it for the reader of the line.
    node = "-".join(one_line(line.node).split())
    head = f"{at} {node} kernel: " if at else "kernel: "
    return (head + one_line(line.text) + "\n").encode("utf-8", "replace")
