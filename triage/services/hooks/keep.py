"""Notices on nodes are kept, and the incidents of their nodes are told to take them.

They are stored before anybody looks for an incident, and an incident looks for them after it is
stored. So one of the two finds the other, whichever comes first and whenever a process dies.
"""

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from sqlalchemy.orm import Session

from triage.domain.caller import Caller
from triage.domain.file_kind import FileKind
from triage.domain.states import WorkKind
from triage.domain.wire import format_iso_utc
from triage.errors import TooLarge
from triage.parsers.redact.own import OwnPatterns, own_patterns
from triage.parsers.redact.redact import Redactor
from triage.render.words.clean import format_one_line
from triage.services.context import Context
from triage.services.hooks.notices import AgentReport, Line
from triage.services.uploads.streams import LOOK_BYTES, identify_file
from triage.store import node_notices
from triage.store.access import keys
from triage.store.incidents import incidents
from triage.store.node_notices import NewNotice
from triage.store.views import IncidentView
from triage.store.work import table as work

_RECENT: Final = timedelta(days=1)
_MAX_BODY: Final = 1 << 16
_MAX_SUMMARY: Final = 300
# Written in one transaction.
_AT_ONCE: Final = 500
# Who brings notices has them counted once in so many.
COUNTED_EVERY: Final = 256


@dataclass(frozen=True, slots=True)
class KeptNotices:
    """``incidents`` take some of the notices; ``num_waiting`` are of nodes without any."""

    incidents: tuple[IncidentView, ...]
    num_waiting: int


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
    for start in range(0, len(notices), _AT_ONCE):
        part = notices[start : start + _AT_ONCE]
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
