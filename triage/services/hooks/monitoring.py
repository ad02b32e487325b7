"""Hooks of monitoring systems: their notices are joined to the incidents they belong to.

A notice that names a job joins the job's incident. One that names only a node is kept, and
joins the incidents of jobs on that node that opened within a day before it, or open within a day
after it.

Notices on nodes are kept, and the incidents of their nodes are told to take them.

They are stored before anybody looks for an incident, and an incident looks for them after it is
stored. So one of the two finds the other, whichever comes first and whenever a process dies.

What the hooks of monitoring systems come down to: a failure, a line, a report, or nothing.
"""

import hashlib
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Final

from sqlalchemy.orm import Session

from triage.clock import read_utc_now
from triage.domain.batched import split_into_batches
from triage.domain.caller import Caller
from triage.domain.failure_match import Failure
from triage.domain.file_kind import FileKind
from triage.domain.states import WorkKind
from triage.domain.wire import Key, WireForm, format_iso_utc
from triage.errors import NotAllowed, Refusal, TooLarge, TooMany, Unavailable
from triage.parsers.redact.own import OwnPatterns, own_patterns
from triage.parsers.redact.redact import Redactor
from triage.render.words.clean import format_one_line
from triage.services.context import Context
from triage.services.incidents.announce import announce
from triage.services.uploads.body import LOOK_BYTES, identify_file
from triage.services.uploads.ingest import take_text
from triage.services.uploads.received import Target
from triage.store import node_notices
from triage.store.access import keys
from triage.store.incidents import incidents
from triage.store.node_notices import NewNotice
from triage.store.views import IncidentView
from triage.store.work import table as work


@dataclass(frozen=True, slots=True)
class Line:
    """One line for the kernel log of a node, as our signatures read it.

    ``job_id`` is None where the sender knows only the node. ``source`` names the sender
    (it becomes part of the file's name), ``ref`` tells which of its notices this is.
    """

    node: str
    text: str
    at: datetime | None
    source: str
    ref: str
    job_id: str | None = None


@dataclass(frozen=True, slots=True)
class AgentReport:
    """What an agent reported of a node, as a document that the readers of files know.

    ``body`` is JSON, ``summary`` what it says in one line; ``at``, ``source`` and ``ref`` are as
    those of a :class:`Line`.
    """

    node: str
    body: bytes
    at: datetime | None
    source: str
    ref: str
    summary: str


@dataclass(frozen=True, slots=True)
class Ignored:
    """A notice that is accepted and kept out, and why."""

    ref: Annotated[str, Key("fingerprint")]
    why: str


@dataclass(slots=True)
class Notices:
    """Everything of one request, in its order."""

    failures: list[tuple[str, Failure]] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    reports: list[AgentReport] = field(default_factory=list)
    ignored: list[Ignored] = field(default_factory=list)
    truncated: int = 0

    def ignore(self, ref: str, why: str) -> None:
        """Keep one out."""
        self.ignored.append(Ignored(ref, why))

    def extend(self, others: Sequence["Notices"]) -> None:
        """Take in what others hold."""
        for other in others:
            self.failures += other.failures
            self.lines += other.lines
            self.reports += other.reports
            self.ignored += other.ignored
            self.truncated += other.truncated


_OVERLOADED: Final = frozenset({429, 500, 503, 507})


@dataclass(frozen=True, slots=True)
class KeptNotices:
    """``incidents`` take some of the notices; ``num_waiting`` are of nodes without any."""

    incidents: tuple[IncidentView, ...]
    num_waiting: int


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


_RECENT: Final = timedelta(days=1)
_MAX_BODY: Final = 1 << 16
_MAX_SUMMARY: Final = 300
# Written in one transaction.
_AT_ONCE: Final = 500
# Who brings notices has them counted once in so many.
COUNTED_EVERY: Final = 256


def make_notice(ctx: Context, notice: Line | AgentReport) -> NewNotice:
    """A notice as it is kept. Raises :class:`TooLarge`."""
    own = own_patterns(ctx.settings.redact_patterns)
    if isinstance(notice, Line):
        plain, declared, text = write_as_log(notice), FileKind.KERNEL_LOG, notice.text
    else:
        plain, declared, text = notice.body, FileKind.JOB_LOG, notice.summary
    if len(plain) > _MAX_BODY:
        raise TooLarge(f"it holds more than {_MAX_BODY:,} bytes", hint="send it as a file")
    body, redacted = _redact_secrets(plain, own)
    # Cut behind that: half a secret is known as none.
    summary, _ = _redact_secrets(format_one_line(text).encode("utf-8", "replace"), own)
    return NewNotice(
        node=notice.node,
        source=notice.source,
        kind=identify_file(body[:LOOK_BYTES], notice.source, declared).kind,
        sha256=hashlib.sha256(body).hexdigest(),
        at=notice.at,
        summary=summary.decode("utf-8", "replace")[:_MAX_SUMMARY],
        redacted=redacted,
        body=body,
    )


def _redact_secrets(text: bytes, own: OwnPatterns) -> tuple[bytes, dict[str, int]]:
    redactor = Redactor(own)
    return redactor.feed(text) + redactor.finish(), dict(redactor.counts)


def keep_notices(
    ctx: Context, notices: Sequence[NewNotice], caller: Caller, now: datetime
) -> KeptNotices:
    """Keep what this caller may say; durable when this returns. The same again changes nothing.

    Raises :class:`NotAllowed` for a token that is no longer believed, :class:`Unavailable` and
    :class:`StorageFull`.
    """
    for part in split_into_batches(notices, _AT_ONCE):
        ctx.commit(partial(_write, ctx, part, caller, now))
    nodes = {one.node for one in notices}
    with ctx.database.reading() as session:
        found = node_notices.list_incidents_of_nodes(session, nodes, now - _RECENT, caller.cluster)
        views = [incidents.find(session, one) for one in found.ids]
    if found.ids:
        ctx.commit(partial(look_at, found.ids, now))
    waiting = sum(one.node not in found.nodes for one in notices)
    return KeptNotices(tuple(view for view in views if view is not None), waiting)


def _write(
    ctx: Context, notices: Sequence[NewNotice], caller: Caller, now: datetime, session: Session
) -> None:
    keys.check_believed(session, caller.key_id)
    settings = ctx.settings
    node_notices.keep(session, caller.cluster, notices, now, caller.key_id)
    nodes = {one.node for one in notices}
    node_notices.cut_nodes(session, caller.cluster, nodes, settings.max_events_per_node)
    if secrets.randbelow(COUNTED_EVERY) < len(notices):
        node_notices.cut_token(session, caller.key_id, settings.max_events_per_token)


def look_at(incident_ids: Iterable[str], now: datetime, session: Session) -> None:
    """Ask for a look at these incidents, which takes in what is kept for them."""
    incident_ids = sorted(incident_ids)
    work.hold_incidents(session, incident_ids)
    for incident_id in incident_ids:
        work.enqueue(session, WorkKind.ANALYSE, incident_id, now)


def write_as_log(line: Line) -> bytes:
    """``<time> <node> kernel: <text>``: the form that every reader of kernel logs knows."""
    at = format_iso_utc(line.at)
    # A blank in a name would end it for the reader of the line.
    node = "-".join(format_one_line(line.node).split())
    head = f"{at} {node} kernel: " if at else "kernel: "
    return (head + format_one_line(line.text) + "\n").encode("utf-8", "replace")
