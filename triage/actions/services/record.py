"""What happens to acts, written down: an audit row for each step, and who is told."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy.orm import Session

from triage.actions.services.links import page_of
from triage.actions.store import actions
from triage.actions.store.actions import NewAction, NodeActView
from triage.domain.acting import ActionState, Verb
from triage.domain.states import WorkKind
from triage.notify.act import ActNotice, render_act
from triage.notify.message import Event, message_id
from triage.notify.registry import Target
from triage.notify.request import Kind
from triage.settings import Settings
from triage.store.access import audit
from triage.store.incidents import incidents
from triage.store.messages import deliveries, subscriptions
from triage.store.messages.deliveries import NewDelivery
from triage.store.work import table as work

__all__ = ["EXCLUDED_FOR", "SERVICE", "end", "found", "made", "note", "proposed", "tell", "undone"]

SERVICE: Final = "triage"
"""Who acts where no person does."""
EXCLUDED_FOR: Final = timedelta(days=7)
"""An exclusion that nobody undoes ends by itself."""
TOLD: Final = {
    ActionState.PROPOSED: Event.ACTION_PROPOSED,
    ActionState.DONE: Event.ACTION_DONE,
    ActionState.FAILED: Event.ACTION_FAILED,
    ActionState.LEFT_ALONE: Event.ACTION_FAILED,
}


def note(
    session: Session,
    actor: str,
    step: str,
    one: NodeActView,
    now: datetime,
    detail: Mapping[str, object] | None = None,
) -> None:
    """One step of an act into the audit trail, such as ``act done``."""
    facts = {"incident_id": one.incident_id, "node": one.node, "verb": str(one.verb)}
    audit.note(session, actor, step, one.id, now, {**facts, **(detail or {})})


def found(session: Session, action_id: str) -> NodeActView:
    """An act that is there."""
    one = actions.find(session, action_id)
    assert one is not None
    return one


def made(session: Session, settings: Settings, new: NewAction) -> NodeActView | None:
    """Keep a new act, have it done or approved, and write it down; None where it was there."""
    now = new.created_at
    if not actions.add(session, new):
        return None
    one = found(session, new.id)
    if new.state is ActionState.PROPOSED:
        proposed(session, settings, one, now)
    else:
        note(session, new.asked_by, "act asked for", one, now, {"why": one.why})
        work.enqueue(session, WorkKind.ACT, one.id, now)
    return one


def proposed(session: Session, settings: Settings, one: NodeActView, now: datetime) -> None:
    """Have a proposal wait for a person, until it expires."""
    note(session, SERVICE, "act proposed", one, now, {"why": one.why})
    work.enqueue(session, WorkKind.ACT, one.id, now, not_before=one.expires_at or now)
    tell(session, settings, one, now)


def end(
    session: Session,
    settings: Settings,
    one: NodeActView,
    state: ActionState,
    now: datetime,
    why: str | None = None,
    **values: object,
) -> bool:
    """An act that stands as ``one`` does has ended in ``state``; False where it stands otherwise.

    What was not done to the node counts against no budget.
    """
    if state in (ActionState.LEFT_ALONE, ActionState.FAILED):
        values.setdefault("acted_at", None)
    values |= {"state": state, "ended_at": now}
    values["error"] = None if state is ActionState.DONE else why
    if not actions.change(session, one.id, one.state, **values):
        return False
    step = f"act {str(state).replace('_', ' ')}"
    note(session, SERVICE, step, one, now, {} if why is None else {"why": why})
    tell(session, settings, found(session, one.id), now)
    return True


def undone(
    session: Session, one: NodeActView, actor: str, now: datetime, detail: Mapping[str, object]
) -> None:
    """An act that was done has been taken back; nothing where it stands otherwise."""
    if actions.change(session, one.id, ActionState.DONE, state=ActionState.UNDONE, ended_at=now):
        note(session, actor, "act undone", one, now, detail)


def tell(
    session: Session, settings: Settings, one: NodeActView, now: datetime, headline: str = ""
) -> None:
    """Write a message to who wants to know of acts; ``headline`` is other news than its state."""
    event = Event.ACTION_FAILED if headline else TOLD.get(one.state)
    if event is None:
        return
    there = incidents.find(session, one.incident_id) is not None
    # Not those that the hook of an incident named: whoever holds the link may approve.
    for receiving in subscriptions.of_event(session, str(event)):
        notice = ActNotice(
            event=event,
            at=now,
            headline=headline or headline_of(one),
            facts=facts_of(one),
            url=page_of(session, settings, one),
        )
        request = render_act(notice, Target(Kind(receiving.kind), receiving.url))
        if request is None:
            continue
        step = f"{one.state}/{now.isoformat()}" if one.state is not ActionState.DONE else "done"
        new = NewDelivery(
            message_id(one.id, step, event, receiving.id),
            receiving.id, one.incident_id if there else None, one.revision, str(event),
            request.method, request.url, request.headers, request.body,
        )  # fmt: skip
        deliveries.add(session, new, now)
        work.enqueue(session, WorkKind.NOTIFY, receiving.id, now)


def headline_of(one: NodeActView) -> str:
    """One line: what is asked or was done, to which node, and why."""
    what = f"{one.verb} {one.node}"
    if one.state is ActionState.PROPOSED:
        return f"Approve? {what}: {one.why}"
    if one.state is ActionState.DONE:
        done = {Verb.DRAIN: "drained", Verb.UNDRAIN: "given back", Verb.REBOOT: "rebooted"}
        return f"{one.node} was {done.get(one.verb, 'excluded')}: {one.why}"
    return f"Not done: {what}: {one.error or one.why}"


def facts_of(one: NodeActView) -> dict[str, object]:
    keys = ("id", "incident_id", "cluster", "node", "verb", "state", "category", "confidence",
            "why", "error", "expires_at")  # fmt: skip
    wire = one.to_dict()
    return {key: wire[key] for key in keys}
