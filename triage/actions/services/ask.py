"""A person asks for an act on the nodes that an incident convicts: no approval, all other rules."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated

from sqlalchemy.orm import Session

from triage.actions.services import record
from triage.actions.services.decide import approved
from triage.actions.services.propose import act_on, asked_again, take_back, would_have
from triage.actions.services.rules import (
    HALTED,
    Broken,
    Convicted,
    Rule,
    broken_by_incident,
    broken_by_mode,
    broken_by_node,
    convicted,
)
from triage.actions.services.wordings import command_of, why_of
from triage.actions.store import actions, halts
from triage.actions.store.actions import NodeActView
from triage.actions.store.standings import Standing, standing_of
from triage.clock import utc_now
from triage.domain.acting import ActionState, ActMode, Verb
from triage.domain.wire import WireForm
from triage.errors import Conflict, NotFound
from triage.services.context import Context

__all__ = ["ActWish", "AskedActs", "WouldAct", "ask"]


@dataclass(frozen=True, slots=True)
class ActWish:
    """What a person asks for. ``node`` is one of those convicted; None: all of them.

    ``approve``: also where the budget is spent.
    """

    verb: Verb
    node: str | None = None
    dry_run: bool = False
    approve: bool = False


@dataclass(frozen=True, slots=True)
class WouldAct(WireForm):
    """An act that would be done."""

    node: str
    verb: Verb
    why: str
    command: Annotated[str | None, "The same for a shell; null where no scheduler is asked."]


@dataclass(frozen=True, slots=True)
class AskedActs(WireForm):
    """What became of a wish: acts that are carried out or wait, or those that would be."""

    dry_run: bool
    actions: tuple[NodeActView, ...]
    would: tuple[WouldAct, ...]


def ask(
    ctx: Context,
    incident_id: str,
    wish: ActWish,
    by: str,
    *,
    also: Callable[[Session, AskedActs], None] | None = None,
) -> AskedActs:
    """Have an act done on the convicted nodes of an incident; the scheduler is asked by a worker.

    ``also`` is called in the same transaction. Raises :class:`NotFound`, and :class:`Conflict`
    that says which rule is in the way and how to go on.
    """
    now = utc_now()
    with ctx.database.writing() as session:
        if wish.verb is Verb.UNDRAIN:
            asked = undrain(ctx, session, incident_id, wish, by, now)
        else:
            asked = act(ctx, session, incident_id, wish, by, now)
        if also is not None:
            also(session, asked)
    return asked


def act(
    ctx: Context, session: Session, incident_id: str, wish: ActWish, by: str, now: datetime
) -> AskedActs:
    settings = ctx.settings
    standing = standing_of(session, incident_id)
    if standing is None:
        raise NotFound("there is no such incident", hint="GET /v1/incidents lists them")
    check(broken_by_mode(settings, wish.verb) or broken_by_incident(standing, settings))
    nodes = wanted(standing, wish)
    for one in nodes:
        check(broken_by_node(standing, one, settings, now))
    if wish.dry_run or settings.act_mode is ActMode.DRY_RUN:
        for one in nodes:
            would_have(session, settings, standing, one, wish.verb, by, now)
        would = tuple(
            WouldAct(
                one.node,
                wish.verb,
                why_of(one, standing.incident),
                command_of(settings, wish.verb, one, incident_id),
            )
            for one in nodes
        )
        return AskedActs(dry_run=True, actions=(), would=would)
    if halts.present(session, standing.cluster_id) is not None:
        raise HALTED.conflict()
    done = [begun(ctx, session, standing, one, wish, by, now) for one in nodes]
    return AskedActs(dry_run=False, actions=tuple(done), would=())


def wanted(standing: Standing, wish: ActWish) -> Sequence[Convicted]:
    """The convicted nodes that the wish names. Raises :class:`Conflict` where there is none."""
    found = list(convicted(standing))
    nodes = [one for one in found if wish.node in (None, one.node)]
    if nodes:
        return nodes
    if not found:
        why, step = (
            "the answer convicts no node of a hardware cause",
            "look at the suspects; act by hand at the scheduler",
        )
    else:
        names = ", ".join(one.node for one in found)
        why, step = f"{wish.node} is not convicted by this answer", f"those that are: {names}"
    raise Broken(Rule.CONVICTED, why, step).conflict()


def begun(
    ctx: Context,
    session: Session,
    standing: Standing,
    one: Convicted,
    wish: ActWish,
    by: str,
    now: datetime,
) -> NodeActView:
    """The act of a person on one node: a new one, or one that is there and was not done."""
    incident = standing.incident
    decider, decided_at = (by, now) if wish.approve else (None, None)
    earlier = actions.of_incident(session, incident.id, one.node)
    done = [it for it in earlier if it.state in (ActionState.DONE, ActionState.UNDONE)
            and it.verb is not Verb.UNDRAIN]  # fmt: skip
    if any(it.verb is wish.verb or wish.verb is not Verb.REBOOT for it in done):
        it = done[0]
        raise Broken(
            Rule.ONCE,
            f"{one.node} was acted on for this incident already: {it.verb} is {it.state} ({it.id})",
            f"`triage act undo {it.id}` takes it back; a second time, act at the scheduler",
        ).conflict()
    same = next((it for it in earlier if it.verb is wish.verb), None)
    if same is None:
        new = act_on(ctx.settings, standing, one, wish.verb, by, now)
        new = replace(new, decided_by=decider, decided_at=decided_at)
        made = record.made(session, ctx.settings, new)
        if made is not None:
            return made
        raise Conflict("somebody else has just asked for the same", hint="`triage act list`")
    if same.state is ActionState.PROPOSED and wish.approve:
        return approved(session, same, by)
    values: dict[str, object] = {
        "state": ActionState.APPROVED, "asked_by": by, "expires_at": None,
        "confidence": one.confidence, "category": one.category, "revision": incident.revision,
        "why": why_of(one, incident), "decided_by": decider, "decided_at": decided_at,
    }  # fmt: skip
    return asked_again(session, ctx.settings, same, values, now)


def undrain(
    ctx: Context, session: Session, incident_id: str, wish: ActWish, by: str, now: datetime
) -> AskedActs:
    """Take back the drains of an incident, or of one of its nodes."""
    settings = ctx.settings
    drains = [
        one
        for one in actions.of_incident(session, incident_id, wish.node, Verb.DRAIN)
        if one.state is ActionState.DONE
    ]
    if not drains:
        raise Conflict(
            "no drain of this incident stands that could be taken back",
            hint="`triage act list` shows what was done",
        )
    if wish.dry_run or settings.act_mode is ActMode.DRY_RUN:
        would = tuple(
            WouldAct(one.node, Verb.UNDRAIN, f"takes {one.id} back", None) for one in drains
        )
        return AskedActs(dry_run=True, actions=(), would=would)
    done = (take_back(session, settings, one, now, f"{by} undoes it", by) for one in drains)
    return AskedActs(dry_run=False, actions=tuple(done), would=())


def check(broken: Broken | None) -> None:
    """Raises :class:`Conflict` for a rule that does not hold."""
    if broken is not None:
        raise broken.conflict()
