"""What an answer, or a person's word, makes of acts: proposals, and what proves wrong.

Called in the transaction that keeps the answer or the word, so that neither is there without
the other.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import structlog
from sqlalchemy.orm import Session

from triage.actions.services import record
from triage.actions.services.rules import (
    Convicted,
    broken_by_incident,
    broken_by_mode,
    broken_by_node,
    contradicts,
    convicted,
    verb_for,
)
from triage.actions.services.wordings import command_of, why_of
from triage.actions.store import actions, halts
from triage.actions.store.actions import NewAction, NodeActView
from triage.actions.store.standings import Standing, standing_of
from triage.domain.acting import ActionState, ActMode, Verb
from triage.domain.states import WorkKind
from triage.settings import Settings
from triage.store.access import audit
from triage.store.database.ids import new_id
from triage.store.work import table as work

__all__ = ["act_on", "asked_again", "by_answer", "look_back", "take_back", "would_have"]

log = structlog.get_logger(__name__)
WRONG_WITHIN: Final = timedelta(days=7)


def by_answer(session: Session, settings: Settings, incident_id: str, now: datetime) -> None:
    """A settled incident has an answer: propose what it asks for, look back at what was done."""
    if settings.act_mode is ActMode.OFF:
        return
    standing = standing_of(session, incident_id)
    if standing is None or broken_by_mode(settings) or broken_by_incident(standing, settings):
        return
    look_back(session, settings, standing, now)
    for one in convicted(standing):
        verb = verb_for(one, settings)
        broken = broken_by_node(standing, one, settings, now)
        if verb is None or broken is not None:
            log.info("not acted on", node=one.node, why=None if broken is None else broken.why)
        elif not any(actions.of_incident(session, incident_id, one.node)):
            propose(session, settings, standing, one, verb, now)


def propose(
    session: Session,
    settings: Settings,
    standing: Standing,
    one: Convicted,
    verb: Verb,
    now: datetime,
) -> None:
    """Write down what would be done, propose it, or have it done: as the mode says."""
    if settings.act_mode is ActMode.DRY_RUN:
        would_have(session, settings, standing, one, verb, record.SERVICE, now)
        return
    new = act_on(settings, standing, one, verb, record.SERVICE, now)
    if settings.act_mode is not ActMode.AUTO:
        until = now + timedelta(hours=settings.act_approval_hours)
        new = replace(new, state=ActionState.PROPOSED, expires_at=until)
    record.made(session, settings, new)


def act_on(
    settings: Settings, standing: Standing, one: Convicted, verb: Verb, by: str, now: datetime
) -> NewAction:
    """An act on a convicted node that is to be carried out, not kept yet."""
    return NewAction(
        id=new_id("act", now),
        cluster_id=standing.cluster_id,
        incident_id=standing.incident.id,
        node=one.node,
        verb=verb,
        system=settings.act_system,
        state=ActionState.APPROVED,
        category=one.category,
        confidence=one.confidence,
        revision=standing.incident.revision,
        why=why_of(one, standing.incident),
        asked_by=by,
        created_at=now,
        command=command_of(settings, verb, one, standing.incident.id),
    )


def would_have(
    session: Session,
    settings: Settings,
    standing: Standing,
    one: Convicted,
    verb: Verb,
    actor: str,
    now: datetime,
) -> None:
    """An act that is not done, into the audit trail; each once for an answer."""
    detail = {
        "node": one.node,
        "verb": str(verb),
        "system": settings.act_system,
        "revision": standing.incident.revision,
        "confidence": round(one.confidence, 3),
        "why": why_of(one, standing.incident),
        "command": command_of(settings, verb, one, standing.incident.id),
    }
    incident_id = standing.incident.id
    same = audit.listing(session, 100, actor=actor, action="act would have been",
                         subject=incident_id)  # fmt: skip
    if not any({**row.detail, **detail} == row.detail for row in same):
        audit.note(session, actor, "act would have been", incident_id, now, detail)


def look_back(session: Session, settings: Settings, standing: Standing, now: datetime) -> None:
    """Find acts that the newest answer, or what a person says, no longer bears out."""
    if settings.act_mode in (ActMode.OFF, ActMode.DRY_RUN):
        return
    still = {one.node for one in convicted(standing)}
    said = standing.incident.resolution
    for one in actions.of_incident(session, standing.incident.id):
        if one.verb is Verb.UNDRAIN:
            continue
        if said is not None and contradicts(said, one.node, str(one.category)):
            where = f" on {said.node}" if said.node else ""
            refute(session, settings, one, f"a person said that it was {said.category}{where}", now)
        elif one.node not in still and not broken_by_incident(standing, settings):
            why = f"revision {standing.incident.revision} no longer convicts {one.node}"
            refute(session, settings, one, why, now)


def refute(session: Session, settings: Settings, one: NodeActView, why: str, now: datetime) -> None:
    """An act has nothing to rest on any more: it is not begun, or it is taken back."""
    if one.state in (ActionState.PROPOSED, ActionState.APPROVED):
        record.end(session, settings, one, ActionState.LEFT_ALONE, now, why)
    elif one.state in (ActionState.DONE, ActionState.UNDONE) and not halts.is_wrong(
        session, one.id
    ):
        proved_wrong(session, settings, one, why, now)
        if one.state is ActionState.DONE:
            take_back(session, settings, one, now, why, record.SERVICE)


def proved_wrong(
    session: Session, settings: Settings, one: NodeActView, why: str, now: datetime
) -> None:
    """Count an act that was wrong; too many of them within a week stop the actuator."""
    actions.hold_cluster(session, one.cluster_id)
    record.note(session, record.SERVICE, halts.WRONG, one, now, {"why": why})
    session.flush()
    since = now - WRONG_WITHIN
    resumed = halts.resumed_at(session, one.cluster_id)
    since = since if resumed is None else max(since, resumed)
    number = halts.num_wrong(session, one.cluster_id, since)
    if number < settings.act_wrong_stop:
        return
    reason = f"{number} acts proved wrong within a week, the last one {one.id} ({one.node}): {why}"
    if halts.begin(session, one.cluster_id, now, record.SERVICE, reason, one.id):
        audit.note(session, record.SERVICE, "actuator halted", one.id, now, {"why": reason})
        record.tell(session, settings, one, now, f"The actuator stopped itself: {reason}")
        log.error("the actuator stopped itself", why=reason)


def take_back(
    session: Session,
    settings: Settings,
    one: NodeActView,
    now: datetime,
    why: str,
    actor: str,
) -> NodeActView:
    """Undo an act that was done: an exclusion at once, a drain by another act, which is returned.

    By itself the service undoes in mode ``auto`` alone, and not while it is halted; else the
    undoing waits for a person. A reboot stays as it is.
    """
    if one.verb is Verb.EXCLUDE:
        record.undone(session, one, actor, now, {"why": why})
        return record.found(session, one.id)
    if one.verb is not Verb.DRAIN:
        return one
    by_person = actor != record.SERVICE
    halted = halts.present(session, one.cluster_id) is not None
    waits = not by_person and (settings.act_mode is not ActMode.AUTO or halted)
    values: dict[str, object] = {
        "state": ActionState.PROPOSED if waits else ActionState.APPROVED,
        "why": why,
        "asked_by": actor,
        "decided_by": actor if by_person else None,
        "decided_at": now if by_person else None,
        "expires_at": now + timedelta(hours=settings.act_approval_hours) if waits else None,
    }
    earlier = actions.of_incident(session, one.incident_id, one.node, Verb.UNDRAIN)
    if earlier:
        return asked_again(session, settings, earlier[0], values, now)
    new = NewAction(
        id=new_id("act", now),
        cluster_id=one.cluster_id,
        incident_id=one.incident_id,
        node=one.node,
        verb=Verb.UNDRAIN,
        system=one.system,
        category=str(one.category),
        confidence=one.confidence,
        revision=one.revision,
        created_at=now,
        undoes=one.id,
        **values,  # type: ignore[arg-type]
    )
    made = record.made(session, settings, new)
    assert made is not None
    return made


def asked_again(
    session: Session,
    settings: Settings,
    one: NodeActView,
    values: dict[str, object],
    now: datetime,
) -> NodeActView:
    """An act that waits, or was not done before, once more; one that is being done stays."""
    if one.state in (ActionState.APPROVED, ActionState.ACTING):
        return one
    clean = {"ended_at": None, "error": None, "acted_at": None, "owner": None}
    work.enqueue(session, WorkKind.ACT, one.id, now)
    if actions.change(session, one.id, one.state, **clean, **values):
        again = record.found(session, one.id)
        if again.state is ActionState.PROPOSED:
            record.proposed(session, settings, again, now)
        else:
            record.note(session, again.asked_by, "act asked for", again, now, {"why": again.why})
    return record.found(session, one.id)
